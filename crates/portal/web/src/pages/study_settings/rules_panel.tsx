// The rules for a study's data: goal, rule of the highest heart rate, and how long raw data are kept. They hold from now
// on; days before keep what was valid then.

import { useState } from "preact/hooks";
import { call } from "../../api/client";
import * as paths from "../../api/paths";
import type { GroupSettings } from "../../api/types";
import { useAction } from "../../api/use_action";
import { useResource } from "../../api/use_resource";
import { DATA_TYPES } from "../../data_types";
import { Notice } from "../../design/badge";
import { Button } from "../../design/button";
import { CurlButton } from "../../design/copy_button";
import { Confirm } from "../../design/dialog";
import { SelectField, TextField } from "../../design/field";
import { Panel } from "../../design/page_head";
import { Problem } from "../../design/problem";
import { Skeleton } from "../../design/skeleton";
import { toast } from "../../design/toast";
import { retentionOf, shorterRetention } from "./retention";

const RULES = [
  { value: "fox", text: "220 − age (Fox)" },
  { value: "tanaka", text: "208 − 0.7 × age (Tanaka)" },
];

export function RulesPanel({ code, may }: { code: string; may: boolean }) {
  const { data, error, reload, set } = useResource<GroupSettings>(paths.groupSettings(code));
  return (
    <Panel
      title="Rules for the data"
      note="They hold from now on. Days before keep what was valid then."
      tools={<CurlButton path={paths.groupSettings(code)} />}
    >
      {error && <Problem error={error} onRetry={reload} />}
      {!data && !error && <Skeleton />}
      {data && <RulesForm code={code} settings={data} may={may} onSaved={set} />}
    </Panel>
  );
}

function RulesForm({
  code,
  settings,
  may,
  onSaved,
}: {
  code: string;
  settings: GroupSettings;
  may: boolean;
  onSaved: (settings: GroupSettings) => void;
}) {
  const [goal, setGoal] = useState(String(settings.activity_goal_steps));
  const [rule, setRule] = useState<string>(settings.max_heart_rate_rule);
  const [days, setDays] = useState<Record<string, string>>(() =>
    Object.fromEntries(DATA_TYPES.map(({ value }) => [value, String(settings.retention[value] ?? "")])),
  );
  const [asking, setAsking] = useState(false);
  const retention = retentionOf(days);
  const shorter = shorterRetention(settings.retention, retention);
  const save = useAction(async () => {
    const body = { activity_goal_steps: Number(goal), max_heart_rate_rule: rule, retention };
    onSaved(await call<GroupSettings>("PUT", paths.groupSettings(code), body));
    setAsking(false);
    toast("Rules saved");
  });
  const submit = (event: Event) => {
    event.preventDefault();
    if (shorter.length > 0) setAsking(true);
    else void save.run();
  };
  return (
    <form class="stack" onSubmit={submit}>
      <div class="fields">
        <TextField
          label="Daily goal"
          type="number"
          unit="steps"
          min={1}
          max={200000}
          required
          disabled={!may}
          value={goal}
          onValue={setGoal}
          error={save.fields.activity_goal_steps}
        />
        <SelectField
          label="Highest heart rate by age"
          choices={RULES}
          disabled={!may}
          value={rule}
          onValue={setRule}
          error={save.fields.max_heart_rate_rule}
        />
      </div>
      <h3>Raw data are kept for</h3>
      <p class="soft small">
        Empty means for good. Summaries and scores stay in any case. Of a patient in several studies the longest holds.
      </p>
      <div class="fields">
        {DATA_TYPES.map(({ value, text }) => (
          <TextField
            key={value}
            label={text}
            type="number"
            unit="days"
            min={1}
            max={36500}
            placeholder="for good"
            disabled={!may}
            value={days[value]}
            onValue={(next) => setDays({ ...days, [value]: next })}
          />
        ))}
      </div>
      {save.failed && !asking && (
        <Notice tone="bad" alert>
          {save.failed}
        </Notice>
      )}
      {may && (
        <div>
          <Button kind="primary" type="submit" busy={save.busy}>
            Save rules
          </Button>
        </div>
      )}
      {asking && (
        <Confirm
          title="Keep raw data for a shorter time?"
          yes="Save and delete older data"
          danger
          busy={save.busy}
          failed={save.failed}
          onYes={() => void save.run()}
          onClose={() => setAsking(false)}
        >
          <p>Older raw data of these types will be deleted and cannot be brought back:</p>
          <ul class="plain">
            {shorter.map((type) => (
              <li key={type}>
                {DATA_TYPES.find(({ value }) => value === type)?.text ?? type}: {retention[type]} days
              </li>
            ))}
          </ul>
        </Confirm>
      )}
    </form>
  );
}
