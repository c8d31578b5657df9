// Light or dark: the system's choice unless this browser has another setting. Charts listen, since a canvas keeps the
// colours that it was drawn with.

import { useEffect, useState } from "preact/hooks";

export type Theme = "system" | "light" | "dark";

const KEY = "pulseward-theme";
const listeners = new Set<() => void>();

export function storedTheme(): Theme {
  try {
    const stored = localStorage.getItem(KEY);
    return stored === "light" || stored === "dark" ? stored : "system";
  } catch {
    return "system";
  }
}

/** Shows the theme that is stored. Called before the first drawing. */
export function applyTheme(theme: Theme = storedTheme()): void {
  if (theme === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}

export function chooseTheme(theme: Theme): void {
  try {
    localStorage.setItem(KEY, theme);
  } catch {
    // Without storage the choice lasts until the page is left.
  }
  applyTheme(theme);
  for (const listener of listeners) listener();
}

/** Whether dark is shown now; changes with the switch and with the system. */
export function useDark(): boolean {
  const system = matchMedia("(prefers-color-scheme: dark)");
  const current = () => {
    const theme = document.documentElement.dataset.theme;
    return theme ? theme === "dark" : system.matches;
  };
  const [dark, setDark] = useState(current);
  useEffect(() => {
    const update = () => setDark(current());
    listeners.add(update);
    system.addEventListener("change", update);
    return () => {
      listeners.delete(update);
      system.removeEventListener("change", update);
    };
  }, []);
  return dark;
}
