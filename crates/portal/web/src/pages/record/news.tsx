// What the NEWS of a patient must know and no bracelet can measure: oxygen, the SpO₂ scale, consciousness. What nobody
// has set is assumed, and said to be.

import { useState } from "preact/hooks";
import { call } from "../../api/client";
import * as paths from "../../api/paths";
import type { NewsSettings } from "../../api/types";
import { useAction } from "../../api/use_action";
import { useResource } from "../../api/use_resource";
import { Notice } from "../../design/badge";
import { Button } from "../../design/button";
import { CurlButton } from "../../design/copy_button";
import { SelectField } from "../../design/field";
import { Panel } from "../../design/page_head";
import { Problem } from "../../design/problem";
import { Skeleton } from "../../design/skeleton";
import { toast } from "../../design/toast";
import type { PartProps } from "./part_props";

const OXYGEN = [
  { value: "false", text: "Room air" },
  { value: "true", text: "Supplemental oxygen" },
];
const SCALES = [
  { value: "1", text: "Scale 1 (usual)" },
  { value: "2", text: "Scale 2 (target 88–92 %, hypercapnic failure)" },
];
const CONSCIOUSNESS = [
  { value: "A", text: "A – alert" },
  { value: "C", text: "C – new confusion" },
  { value: "V", text: "V – responds to voice" },
  { value: "P", text: "P – responds to pain" },
  { value: "U", text: "U – unresponsive" },
];

export function NewsPart({ patient, may }: PartProps) {
  const { data, error, reload, set } = useResource<NewsSettings>(paths.newsSettings(patient.uuid));
  return (
    <Panel
      title="NEWS settings"
      note="They hold from the moment you save them; scores before stay."
      tools={<CurlButton path={paths.newsSettings(patient.uuid)} />}
    >
      {error && <Problem error={error} onRetry={reload} />}
      {!data && !error && <Skeleton />}
      {data && <NewsForm key={JSON.stringify(data)} uuid={patient.uuid} settings={data} may={may} onSaved={set} />}
    </Panel>
  );
}

interface FormProps {
  uuid: string;
  settings: NewsSettings;
  may: boolean;
  onSaved: (settings: NewsSettings) => void;
}

function NewsForm({ uuid, settings, may, onSaved }: FormProps) {
  const [oxygen, setOxygen] = useState(String(settings.oxygen));
  const [scale, setScale] = useState(String(settings.spo2_scale));
  const [consciousness, setConsciousness] = useState<string>(settings.consciousness);
  const save = useAction(async () => {
    // All three are sent, also those that were only assumed: who saves the form has seen them.
    const body = { oxygen: oxygen === "true", spo2_scale: Number(scale), consciousness };
    onSaved(await call<NewsSettings>("PUT", paths.newsSettings(uuid), body));
    toast("NEWS settings saved");
  });
  const assumed = (name: string) => (settings.assumed.includes(name) ? "Assumed: nobody has set this yet." : undefined);
  const submit = (event: Event) => {
    event.preventDefault();
    void save.run();
  };
  return (
    <form class="stack" onSubmit={submit}>
      <SelectField
        label="Breathing"
        choices={OXYGEN}
        disabled={!may}
        value={oxygen}
        onValue={setOxygen}
        hint={assumed("oxygen")}
      />
      <SelectField
        label="SpO₂ scale"
        choices={SCALES}
        disabled={!may}
        value={scale}
        onValue={setScale}
        hint={assumed("spo2_scale")}
      />
      <SelectField
        label="Consciousness"
        choices={CONSCIOUSNESS}
        disabled={!may}
        value={consciousness}
        onValue={setConsciousness}
        hint={assumed("consciousness")}
      />
      {save.failed && (
        <Notice tone="bad" alert>
          {save.failed}
        </Notice>
      )}
      {may && (
        <div>
          <Button kind="primary" type="submit" busy={save.busy}>
            Save NEWS settings
          </Button>
        </div>
      )}
    </form>
  );
}
