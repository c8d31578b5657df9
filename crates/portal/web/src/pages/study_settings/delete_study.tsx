// The end of a study. Its code has to be typed; a study that still has patients cannot go.

import { useState } from "preact/hooks";
import { call } from "../../api/client";
import * as paths from "../../api/paths";
import type { Group } from "../../api/types";
import { useAction } from "../../api/use_action";
import { Button } from "../../design/button";
import { Panel } from "../../design/page_head";
import { toast } from "../../design/toast";
import { TypedConfirm } from "../../design/typed_confirm";
import { navigate } from "../../router";
import { reloadStudies } from "../../studies";

export function DeleteStudy({ study }: { study: Group }) {
  const [asking, setAsking] = useState(false);
  const remove = useAction(async () => {
    await call("DELETE", paths.group(study.code));
    await reloadStudies();
    toast(`Study “${study.name}” deleted`);
    navigate("/");
  });
  return (
    <Panel
      title="Delete the study"
      note="Only a study without patients can be deleted. The audit log keeps that it was there."
    >
      <Button kind="danger" icon="trash" onClick={() => setAsking(true)}>
        Delete study
      </Button>
      {asking && (
        <TypedConfirm
          title={`Delete “${study.name}”?`}
          yes="Delete study"
          word={study.code}
          wordIs="the study’s code"
          busy={remove.busy}
          failed={remove.failed}
          onYes={() => void remove.run()}
          onClose={() => setAsking(false)}
        >
          <p>Its settings, memberships and unused vouchers go. API keys that are confined to it stop working.</p>
        </TypedConfirm>
      )}
    </Panel>
  );
}
