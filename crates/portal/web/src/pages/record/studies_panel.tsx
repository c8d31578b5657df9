// Leaving this study. A patient of no other study cannot leave: they would be nobody's.

import { useState } from "preact/hooks";
import { call } from "../../api/client";
import * as paths from "../../api/paths";
import { useAction } from "../../api/use_action";
import { Button } from "../../design/button";
import { Confirm } from "../../design/dialog";
import { Panel } from "../../design/page_head";
import { toast } from "../../design/toast";
import { patientName } from "../../format";
import { navigate } from "../../router";
import { useStudy } from "../../studies";
import * as pages from "../paths";
import type { PartProps } from "./part_props";

export function StudiesPanel({ code, patient, may }: PartProps) {
  const study = useStudy(code);
  const [asking, setAsking] = useState(false);
  const leave = useAction(async () => {
    await call("DELETE", paths.patientOfGroup(code, patient.uuid));
    toast(`${patientName(patient)} taken out of the study`);
    navigate(pages.patients(code));
  });
  return (
    <Panel title="Study">
      <div class="stack close">
        <p>
          In <a href={pages.board(code)}>{study?.name ?? code}</a>.
        </p>
        {may && (
          <div>
            <Button onClick={() => setAsking(true)}>Take out of this study</Button>
          </div>
        )}
      </div>
      {asking && (
        <Confirm
          title="Take the patient out of this study?"
          yes="Take out"
          busy={leave.busy}
          failed={leave.failed}
          onYes={() => void leave.run()}
          onClose={() => setAsking(false)}
        >
          <p>
            Everything that was measured stays with the patient, in the other studies. The people of this study no
            longer see it.
          </p>
        </Confirm>
      )}
    </Panel>
  );
}
