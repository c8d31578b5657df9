// What can be pressed. One `primary` on a page or in a dialog; `danger` only for what cannot be taken back; `quiet` for
// what is next to every row. A button that is at work stays in place and says so.

import type { ComponentChildren } from "preact";
import { Icon, type IconName } from "./icon";

type Kind = "plain" | "primary" | "danger" | "quiet";

interface Looks {
  kind?: Kind;
  small?: boolean;
  icon?: IconName;
  children?: ComponentChildren;
}

interface ButtonProps extends Looks {
  onClick?: (event: MouseEvent) => void;
  type?: "button" | "submit";
  disabled?: boolean;
  autofocus?: boolean;
  /** At work: not to be pressed again. */
  busy?: boolean;
  /** For a button that is only a picture, or whose text needs the row to be understood. */
  label?: string;
  "aria-expanded"?: boolean;
  "aria-pressed"?: boolean;
  "aria-controls"?: string;
}

function classOf({ kind = "plain", small, icon, children }: Looks): string {
  return ["button", kind, small ? "small" : "", icon && !children ? "square" : ""].filter(Boolean).join(" ");
}

export function Button({ kind, small, icon, busy, label, children, disabled, type = "button", ...rest }: ButtonProps) {
  return (
    <button
      {...rest}
      type={type}
      class={classOf({ kind, small, icon, children })}
      disabled={disabled || busy}
      aria-busy={busy || undefined}
      aria-label={label}
      title={label}
    >
      {busy ? <span class="spinner" aria-hidden="true" /> : icon && <Icon name={icon} />}
      {children}
    </button>
  );
}

interface LinkProps extends Looks {
  href: string;
  download?: string | boolean;
  "aria-label"?: string;
}

/** A link that looks like a button, because it leads to the next step. */
export function ButtonLink({ kind, small, icon, children, ...rest }: LinkProps) {
  return (
    <a {...rest} class={classOf({ kind, small, icon, children })}>
      {icon && <Icon name={icon} />}
      {children}
    </a>
  );
}
