// What holds for a whole study: its name, the rules for its data, its people, and its end.

import { useOwnSession } from "../../api/session";
import { PageHead } from "../../design/page_head";
import { Skeleton } from "../../design/skeleton";
import type { PageProps } from "../../page_props";
import { useStudy } from "../../studies";
import { mayManage } from "../rights";
import { DeleteStudy } from "./delete_study";
import { Members } from "./members";
import { NamePanel } from "./name_panel";
import { RulesPanel } from "./rules_panel";

export default function StudySettingsPage({ params: { code } }: PageProps) {
  const study = useStudy(code);
  const { account } = useOwnSession();
  const may = mayManage(account.role);
  return (
    <>
      <PageHead title="Study settings" note={may ? null : "You can look; a researcher of the study can change them."} />
      {!study && <Skeleton lines={5} />}
      {study && (
        <div class="stack">
          <div class="columns">
            <NamePanel study={study} may={may} key={study.code} />
            {may && <Members code={code} may />}
          </div>
          <RulesPanel code={code} may={may} />
          {may && <DeleteStudy study={study} />}
        </div>
      )}
    </>
  );
}
