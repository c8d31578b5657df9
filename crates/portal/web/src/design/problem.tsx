// Something could not be read: what, why, and a way to try again.

import { explain } from "../api/explain";
import { Button } from "./button";

export function Problem({ error, onRetry }: { error: Error; onRetry?: () => void }) {
  return (
    <div class="notice bad row" role="alert">
      <span>{explain(error)}</span>
      {onRetry && (
        <Button small onClick={onRetry}>
          Try again
        </Button>
      )}
    </div>
  );
}
