// Range and action of the audit log. They are in the address, so that a view can be kept and sent on.

import { Button } from "../../design/button";
import { TextField } from "../../design/field";
import { isoDay, shiftDay } from "../../format";
import { setQuery } from "../../router";
import { ACTIONS } from "./actions";

const RANGES = [
  { days: 1, text: "Today" },
  { days: 7, text: "7 days" },
  { days: 30, text: "30 days" },
];

export function AuditFilter({ from, to, action }: { from: string; to: string; action: string }) {
  const today = isoDay(new Date());
  return (
    <div class="row end audit-filter">
      <div class="segments" role="group" aria-label="Range">
        {RANGES.map(({ days, text }) => {
          const first = shiftDay(today, 1 - days);
          return (
            <button
              key={days}
              type="button"
              aria-pressed={from === first && to === today}
              onClick={() => setQuery({ from: first, to: null })}
            >
              {text}
            </button>
          );
        })}
      </div>
      <TextField label="From" type="date" value={from} max={to} onValue={(day) => day && setQuery({ from: day })} />
      <TextField label="To" type="date" value={to} onValue={(day) => day && setQuery({ to: day })} />
      <ActionField action={action} />
      {action && (
        <Button kind="quiet" onClick={() => setQuery({ action: null })}>
          All actions
        </Button>
      )}
    </div>
  );
}

function ActionField({ action }: { action: string }) {
  return (
    <div class="field">
      <label for="audit-action">Action</label>
      <select id="audit-action" value={action} onChange={(event) => setQuery({ action: event.currentTarget.value })}>
        <option value="">All actions</option>
        {ACTIONS.map(({ group, codes }) => (
          <optgroup key={group} label={group}>
            {Object.entries(codes).map(([code, words]) => (
              <option key={code} value={code}>
                {words}
              </option>
            ))}
          </optgroup>
        ))}
      </select>
    </div>
  );
}
