// The switch between light, dark and what the system says.

import { useState } from "preact/hooks";
import { Icon } from "./icon";
import { chooseTheme, storedTheme, type Theme } from "./theme";

const CHOICES = [
  { theme: "system", text: "System", icon: "screen" },
  { theme: "light", text: "Light", icon: "sun" },
  { theme: "dark", text: "Dark", icon: "moon" },
] as const;

export function ThemeSwitch() {
  const [chosen, setChosen] = useState(storedTheme);
  const choose = (theme: Theme) => {
    chooseTheme(theme);
    setChosen(theme);
  };
  return (
    <div class="segments" role="group" aria-label="Colours">
      {CHOICES.map(({ theme, text, icon }) => (
        <button key={theme} type="button" aria-pressed={chosen === theme} onClick={() => choose(theme)}>
          <Icon name={icon} size={14} />
          {text}
        </button>
      ))}
    </div>
  );
}
