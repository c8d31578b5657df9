// Who the patient is, and how they are filed. Only what was changed is sent.

import { useState } from "preact/hooks";
import { call } from "../../api/client";
import * as paths from "../../api/paths";
import { useAction } from "../../api/use_action";
import { changedFields, formValues } from "../../changes";
import { Notice } from "../../design/badge";
import { Button } from "../../design/button";
import { SelectField, TextField } from "../../design/field";
import { Panel } from "../../design/page_head";
import { toast } from "../../design/toast";
import type { PartProps } from "./part_props";

const PROFILE = [
  "first_name",
  "last_name",
  "email",
  "birthday",
  "gender",
  "country",
  "height",
  "weight",
  "skin_color",
  "hair_density",
] as const;
const NUMBERS = ["height", "weight", "skin_color", "hair_density"];

const GENDERS = [
  { value: "", text: "not given" },
  { value: "female", text: "female" },
  { value: "male", text: "male" },
  { value: "other", text: "other" },
];

const upTo = (most: number, first: string, last: string) => [
  { value: "", text: "not given" },
  ...Array.from({ length: most }, (_, i) => ({
    value: String(i + 1),
    text: i === 0 ? `1, ${first}` : i === most - 1 ? `${most}, ${last}` : String(i + 1),
  })),
];

// A form begins again where somebody else has changed what it shows, and not with every sync of the bracelet or with the
// other form's saving: what is being typed would be gone.
export function ProfilePanel(props: PartProps) {
  return <ProfileForm {...props} key={JSON.stringify(formValues(props.patient, PROFILE))} />;
}

function ProfileForm({ patient, may, onChanged }: PartProps) {
  const before = formValues(patient, PROFILE);
  const [values, setValues] = useState(before);
  const changes = changedFields(before, values, NUMBERS);
  const save = useAction(async () => {
    await call("PUT", paths.profile(patient.uuid), changes);
    toast("Profile saved");
    onChanged();
  });
  const field = (name: (typeof PROFILE)[number]) => ({
    value: values[name],
    onValue: (value: string) => setValues({ ...values, [name]: value }),
    error: save.fields[name],
    disabled: !may,
  });
  const submit = (event: Event) => {
    event.preventDefault();
    void save.run();
  };
  return (
    <Panel
      title="Profile"
      note="Birthday, gender and body enter the formulas: days that follow from them are computed again."
    >
      <form class="stack" onSubmit={submit}>
        <div class="fields">
          <TextField label="First name" {...field("first_name")} />
          <TextField label="Last name" {...field("last_name")} />
          <TextField label="E-mail" type="email" {...field("email")} />
          <TextField label="Birthday" type="date" {...field("birthday")} />
          <SelectField label="Gender" choices={GENDERS} {...field("gender")} />
          <TextField label="Country" {...field("country")} />
          <TextField label="Height" inputMode="decimal" unit="cm" {...field("height")} />
          <TextField label="Weight" inputMode="decimal" unit="kg" {...field("weight")} />
          <SelectField
            label="Skin colour (Fitzpatrick)"
            choices={upTo(6, "very light", "very dark")}
            {...field("skin_color")}
          />
          <SelectField
            label="Hair density at the wrist"
            choices={upTo(4, "none", "dense")}
            {...field("hair_density")}
          />
        </div>
        <SaveRow may={may} save={save} changes={changes} />
      </form>
    </Panel>
  );
}

const FILING = ["external_patient_id", "customer_tag"] as const;

export function FilingPanel(props: PartProps) {
  return <FilingForm {...props} key={JSON.stringify(formValues(props.patient, FILING))} />;
}

function FilingForm({ patient, may, onChanged }: PartProps) {
  const before = { ...formValues(patient, FILING), time_zone: "" };
  const [values, setValues] = useState(before);
  const changes = changedFields(before, values);
  const save = useAction(async () => {
    await call("PATCH", paths.patient(patient.uuid), changes);
    // No answer has it, so the field would else be there as a change that is still to be saved.
    setValues((now) => ({ ...now, time_zone: "" }));
    toast("Saved");
    onChanged();
  });
  const field = (name: keyof typeof before) => ({
    value: values[name],
    onValue: (value: string) => setValues({ ...values, [name]: value }),
    error: save.fields[name],
    disabled: !may,
  });
  const submit = (event: Event) => {
    event.preventDefault();
    void save.run();
  };
  return (
    <Panel title="Filing">
      <form class="stack" onSubmit={submit}>
        <TextField label="Your identifier" hint="From your own system." {...field("external_patient_id")} />
        <TextField label="Tag" hint="Five letters or digits." maxLength={5} {...field("customer_tag")} />
        <TextField
          label="Time zone"
          hint="Leave it empty to keep what is set. The bracelet’s own zone comes with each sync."
          placeholder="Europe/Zurich"
          {...field("time_zone")}
        />
        <SaveRow may={may} save={save} changes={changes} />
      </form>
    </Panel>
  );
}

function SaveRow({
  may,
  save,
  changes,
}: {
  may: boolean;
  save: { busy: boolean; failed: string | null };
  changes: object;
}) {
  if (!may) return null;
  return (
    <>
      {save.failed && (
        <Notice tone="bad" alert>
          {save.failed}
        </Notice>
      )}
      <div>
        <Button kind="primary" type="submit" busy={save.busy} disabled={Object.keys(changes).length === 0}>
          Save
        </Button>
      </div>
    </>
  );
}
