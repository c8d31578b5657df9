// One's exports and how far they are.

import { get } from "../../api/client";
import * as paths from "../../api/paths";
import type { Export, Patient } from "../../api/types";
import { useAction } from "../../api/use_action";
import { Badge } from "../../design/badge";
import { Button } from "../../design/button";
import { CurlButton } from "../../design/copy_button";
import { type Column, Table } from "../../design/table";
import { Ago, useNow } from "../../design/time";
import { clock, patientName } from "../../format";
import { type Job, progress } from "./jobs";
import type { Exports } from "./use_exports";

export function JobList({ exports, patients, file }: { exports: Exports; patients: Patient[]; file: string }) {
  const { jobs, forget } = exports;
  const { ended, all } = progress(jobs);
  const nameOf = (uuid: string) => {
    const patient = patients.find((one) => one.uuid === uuid);
    return patient ? patientName(patient) : uuid;
  };
  const columns: Column<Job>[] = [
    {
      key: "patient",
      title: "Patient",
      value: (job) => nameOf(job.uuid),
      cell: (job) => <span class="strong">{nameOf(job.uuid)}</span>,
    },
    {
      key: "types",
      title: "Types",
      value: (job) => job.wish.types.join(" "),
      cell: (job) => job.wish.types.join(", "),
    },
    { key: "range", title: "Range", value: (job) => rangeOf(job) },
    { key: "format", title: "Format", value: (job) => job.wish.format },
    { key: "wanted_at", title: "Begun", value: (job) => job.wanted_at, cell: (job) => <Ago time={job.wanted_at} /> },
    { key: "state", title: "State", value: (job) => job.state, cell: (job) => <State job={job} /> },
    { key: "id", title: "Export id", value: (job) => job.id, csvOnly: true },
    {
      key: "do",
      title: "Download",
      controls: true,
      value: () => null,
      cell: (job) => (
        <>
          {job.state === "done" && <Download job={job} />}
          {job.id && <CurlButton path={paths.exportStatus(job.id)} />}
          {/* What was begun is in the service's list, until its archive is removed. */}
          {!job.id && (
            <Button
              small
              kind="quiet"
              icon="close"
              label={`Take the export of ${nameOf(job.uuid)} off the list`}
              onClick={() => forget(job.key)}
            />
          )}
        </>
      ),
    },
  ];
  return (
    <div class="stack close">
      {all > 1 && ended < all && (
        <label class="small soft">
          {ended} of {all} ready
          <progress max={all} value={ended} />
        </label>
      )}
      <Table
        noun="export"
        rows={jobs}
        columns={columns}
        rowKey={(job) => job.key}
        file={file}
        filter={jobs.length > 8}
      />
    </div>
  );
}

function rangeOf(job: Job): string {
  const short = (time: string) => time.slice(0, 16).replace("T", " ");
  return `${short(job.wish.client_date_from)} – ${short(job.wish.client_date_to)}`;
}

function State({ job }: { job: Job }) {
  useNow(5);
  if (job.state === "done") return <Badge tone="good">Ready</Badge>;
  if (job.state === "failed") {
    return (
      <>
        <Badge tone="bad">Failed</Badge> <span class="small">{job.error}</span>
      </>
    );
  }
  if (job.state === "waiting")
    return job.not_before ? (
      <Badge tone="warn">Waits until {clock(job.not_before, "second")}</Badge>
    ) : (
      <Badge>Waits</Badge>
    );
  return (
    <Badge tone="note">
      <span class="spinner" aria-hidden="true" /> In progress
    </Badge>
  );
}

/** The link is time-limited, so it is made when it is wanted. */
function Download({ job }: { job: Job }) {
  const fetchLink = useAction(async () => {
    const { downloadUrl } = await get<Export>(paths.exportStatus(job.id!));
    if (!downloadUrl) throw new Error("the archive is no longer there");
    const link = document.createElement("a");
    link.href = downloadUrl;
    link.download = "";
    link.click();
  });
  return (
    <>
      <Button small kind="primary" icon="download" busy={fetchLink.busy} onClick={() => void fetchLink.run()}>
        Download
      </Button>
      {fetchLink.failed && (
        <p class="bad-text" role="alert">
          {fetchLink.failed}
        </p>
      )}
    </>
  );
}
