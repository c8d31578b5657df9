// A list without anything in it says what it would hold and what to do next.

import type { ComponentChildren } from "preact";
import { Icon, type IconName } from "./icon";

export function EmptyState({
  icon = "info",
  title,
  children,
  action,
}: {
  icon?: IconName;
  title: string;
  children?: ComponentChildren;
  action?: ComponentChildren;
}) {
  return (
    <div class="empty">
      <Icon name={icon} size={28} />
      <p class="strong">{title}</p>
      {children && <div class="soft">{children}</div>}
      {action && <div class="row">{action}</div>}
    </div>
  );
}
