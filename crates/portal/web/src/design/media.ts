// What the screen is like, for what style sheets alone cannot decide.

import { useEffect, useState } from "preact/hooks";

/** Whether a media query fits the screen, again whenever that changes. */
export function useMedia(query: string): boolean {
  const [fits, setFits] = useState(() => matchMedia(query).matches);
  useEffect(() => {
    const media = matchMedia(query);
    const update = () => setFits(media.matches);
    update();
    media.addEventListener("change", update);
    return () => media.removeEventListener("change", update);
  }, [query]);
  return fits;
}
