// A patient: charts of a day or of several over one stretch of time, down to single samples of the raw signals; next to
// them the newest score, who the patient is and what is set for them.

import { useMemo, useState } from "preact/hooks";
import { waitWords } from "../../api/explain";
import * as paths from "../../api/paths";
import { useOwnSession } from "../../api/session";
import type { Patient } from "../../api/types";
import { useResource } from "../../api/use_resource";
import { ChartStack } from "../../charts/chart_stack";
import { held, type Range } from "../../charts/range";
import type { Gap, SeriesAnswer } from "../../charts/series";
import { type Track, VITAL_TRACKS, WAVEFORM_TRACKS } from "../../charts/tracks";
import { civilDate, knownZone } from "../../charts/zone";
import { csvText, download } from "../../csv";
import { Button, ButtonLink } from "../../design/button";
import { CurlButton } from "../../design/copy_button";
import { Problem } from "../../design/problem";
import { Skeleton } from "../../design/skeleton";
import { useNow } from "../../design/time";
import { patientName } from "../../format";
import type { PageProps } from "../../page_props";
import { type Move, stepQuery, useAddress } from "../../router";
import * as pages from "../paths";
import { mayManage } from "../rights";
import { AfibPanel } from "./afib_panel";
import { CHART_CSV_HEADER, chartCsvRows } from "./chart_csv";
import { newsSeries } from "./news_history";
import { NewsPanel } from "./news_panel";
import { RangeBar } from "./range_bar";
import { AlarmPanel, BraceletPanel, ProfilePanel } from "./side_panels";
import { useNews } from "./use_news";
import { useSeries } from "./use_series";
import { type PatientZone, usePatientZone } from "./use_zone";
import { datesOf, rangeQuery, type View, viewOf } from "./view";

/** Up to this length the raw signals are there without being asked for. */
const RAW_BELOW_MS = 10 * 60_000;
/** Up to this length they can be asked for: a day of them is millions of samples. */
const RAW_AT_MOST_MS = 6 * 3_600_000;

/** The list of all patients, of which the page needs one, is read again less often than what is about them. */
const LIST_AGAIN_S = 120;

export default function Page({ params: { code, uuid } }: PageProps) {
  const { query } = useAddress();
  const zone = usePatientZone(uuid, civilDate(query.get("date")));
  const patients = useResource<Patient[]>(paths.patients(code), LIST_AGAIN_S);
  const patient = patients.data?.find((one) => one.uuid === uuid) ?? null;
  if (patients.data && !patient) {
    return (
      <>
        <h1>Patient</h1>
        <Problem error={new Error("this study has no such patient")} />
      </>
    );
  }
  return (
    <div class="patient-page">
      <div class="patient-head">
        <h1>{patient ? patientName(patient) : "Patient"}</h1>
        <ButtonLink small kind="quiet" icon="edit" href={pages.record(code, uuid)}>
          Record, bracelets and alarms
        </ButtonLink>
      </div>
      <div class="patient-body">
        {/* First in the page: on a phone nobody should have to scroll past the charts for the score. */}
        <div class="patient-score">
          <NewsPanel uuid={uuid} />
        </div>
        <div class="patient-charts">{zone ? <Charts uuid={uuid} zone={zone} /> : <Skeleton lines={12} />}</div>
        <div class="patient-side">
          {patients.error && <Problem error={patients.error} onRetry={patients.reload} />}
          {patient && <ProfilePanel code={code} patient={patient} />}
          {patient && <BraceletPanel patient={patient} />}
          <AlarmPanel uuid={uuid} />
        </div>
      </div>
    </div>
  );
}

interface ChartsProps {
  uuid: string;
  zone: PatientZone;
}

function Charts({ uuid, zone: patientZone }: ChartsProps) {
  const { query } = useAddress();
  const { account, wall_display } = useOwnSession();
  // Reading the records of atrial fibrillation is an export.
  const mayExport = mayManage(account.role) && !wall_display;
  const zone = knownZone(patientZone.zone);
  const [points, setPoints] = useState(0);
  const [asked, setAsked] = useState(false);
  // The last hours go on with the time.
  const minute = useNow(60);
  const view = useMemo(() => viewOf(query, zone, Date.now()), [query, zone, minute]);
  const { range, home } = view;
  const span = range.to - range.from;
  const raw = span <= (asked ? RAW_AT_MOST_MS : RAW_BELOW_MS);
  const tracks = useMemo(() => (raw ? [...WAVEFORM_TRACKS, ...VITAL_TRACKS] : VITAL_TRACKS), [raw]);

  const vitals = useSeries(uuid, names(VITAL_TRACKS), range, points);
  const waves = useSeries(uuid, raw ? names(WAVEFORM_TRACKS) : [], range, points);
  const news = useNews(uuid, range);
  const gaps = useMemo(() => untilNow(vitals.answer?.gaps ?? []), [vitals.answer]);
  const scores = useMemo(() => {
    if (!vitals.answer) return [];
    // Of the stretch of both answers: where the gaps are not known yet, nothing is said.
    const both = { from: news.range.from, to: Math.min(news.range.to, vitals.answer.to) };
    return newsSeries(news.entries, both, vitals.answer.gaps, Date.now());
  }, [vitals.answer, news]);
  const answer = useMemo(() => {
    if (!vitals.answer) return { ...range, bucket_ms: 0, series: [], gaps };
    return { ...vitals.answer, gaps, series: [...vitals.answer.series, ...(waves.answer?.series ?? []), ...scores] };
  }, [vitals.answer, waves.answer, scores]);

  const onRange = (next: Range, move?: Move) => stepQuery(rangeQuery(view, held(next), zone), move);
  const error = vitals.error ?? waves.error;
  const waitS = vitals.waitS ?? waves.waitS;
  return (
    <>
      <h2 class="unseen">Charts</h2>
      <RangeBar
        view={view}
        zone={zone}
        zoneText={zoneText(patientZone, zone)}
        onRange={onRange}
        onDate={(date, days) => stepQuery({ date, days: days === 1 ? null : String(days), from: null, to: null })}
      />
      {error && <Problem error={error} />}
      <p class="small soft" role="status">
        {waitS !== null && `Too many requests for now; asking again in ${waitWords(waitS)}. What is drawn stays.`}
      </p>
      <ChartStack
        label="Charts of the patient"
        tracks={tracks}
        answer={answer}
        range={range}
        home={home}
        zone={zone}
        busy={vitals.busy || waves.busy || !vitals.answer}
        loaded={vitals.answer !== null}
        onRange={onRange}
        onWidth={(plotPx) => setPoints(pointsFor(plotPx))}
      />
      <div class="row">
        {!raw && span > RAW_AT_MOST_MS && (
          <span class="small soft">
            ECG, PPG and acceleration are drawn up to 6 hours: drag over the charts to zoom.
          </span>
        )}
        {!raw && span <= RAW_AT_MOST_MS && (
          <Button small icon="pulse" onClick={() => setAsked(true)}>
            Show ECG, PPG and acceleration
          </Button>
        )}
        {asked && raw && (
          <Button small onClick={() => setAsked(false)}>
            Hide raw signals
          </Button>
        )}
        <span class="row push">
          <CurlButton path={paths.summaries(uuid, datesOf(range, zone))} />
          <Button small kind="quiet" icon="download" onClick={() => saveCsv(uuid, view, answer, zone)}>
            CSV
          </Button>
        </span>
      </div>
      {mayExport && <AfibPanel uuid={uuid} range={range} zone={zone} />}
    </>
  );
}

/** The signals to ask the series route for; scores come by a way of their own. */
function names(tracks: Track[]): string[] {
  return tracks
    .flatMap((track) => track.signals.map((signal) => signal.name))
    .filter((name) => !name.startsWith("news."));
}

/** One point for each pixel, in steps so that a scrollbar does not ask again. */
function pointsFor(plotPx: number): number {
  return Math.min(Math.ceil(plotPx / 100) * 100, 3000);
}

/** What is to come is not missing. */
function untilNow(gaps: Gap[]): Gap[] {
  const now = Date.now();
  return gaps.filter((gap) => gap.from < now).map((gap) => ({ ...gap, to: Math.min(gap.to, now) }));
}

function zoneText({ known }: PatientZone, zone: string): string {
  const place = zone.replaceAll("_", " ");
  return known ? `patient’s local time (${place})` : `no local time known, shown in yours (${place})`;
}

function saveCsv(uuid: string, { date }: View, answer: SeriesAnswer, zone: string): void {
  const range = { from: -Infinity, to: Infinity };
  download(`signals-${uuid}-${date}.csv`, csvText(CHART_CSV_HEADER, chartCsvRows(answer, range, zone)));
}
