// Next to the charts: who the patient is, what they wear, which alarms are set. Read here, changed on the record's
// page.

import * as paths from "../../api/paths";
import type { Alarm, Bracelet, Patient } from "../../api/types";
import { AGAIN_MS } from "../../api/use_clock";
import { useResource } from "../../api/use_resource";
import { ButtonLink } from "../../design/button";
import { Problem } from "../../design/problem";
import { Skeleton } from "../../design/skeleton";
import { Ago } from "../../design/time";
import { day, yearsOld } from "../../format";
import * as pages from "../paths";
import { alarmText } from "./side_texts";

export function ProfilePanel({ code, patient }: { code: string; patient: Patient }) {
  const facts: [string, string | number | undefined | null][] = [
    ["External id", patient.external_patient_id],
    ["Born", patient.birthday && `${day(patient.birthday)} (${yearsOld(patient.birthday) ?? "to come"})`],
    ["Gender", patient.gender],
    ["Height", patient.height && `${patient.height} cm`],
    ["Weight", patient.weight && `${patient.weight} kg`],
    ["Skin colour", patient.skin_color && `Fitzpatrick ${patient.skin_color}`],
    ["Country", patient.country],
    ["State", patient.state === "pre_created" ? "voucher not used yet" : patient.state],
  ];
  return (
    <section class="panel" aria-labelledby="profile-title">
      <header>
        <h2 id="profile-title">Profile</h2>
        <ButtonLink small kind="quiet" icon="edit" href={pages.record(code, patient.uuid)}>
          Record
        </ButtonLink>
      </header>
      <dl class="facts small">
        {facts
          .filter(([, value]) => value != null && value !== "")
          .map(([name, value]) => (
            <>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </>
          ))}
      </dl>
    </section>
  );
}

export function BraceletPanel({ patient }: { patient: Patient }) {
  const { data, error, reload } = useResource<Bracelet[]>(paths.bracelets(), AGAIN_MS / 1_000);
  const worn = data?.filter((bracelet) => bracelet.patient_uuid === patient.uuid) ?? [];
  const { device } = patient;
  return (
    <section class="panel" aria-labelledby="bracelet-title">
      <h2 id="bracelet-title">Bracelets</h2>
      {device && (
        <p class="small">
          <b>{device.serial_number}</b> {device.device_type} {device.firmware_version}
          <br />
          <span class="soft">
            {device.battery_level != null && `battery ${device.battery_level} %, `}heard of{" "}
            <Ago time={device.updated_at} />
          </span>
        </p>
      )}
      {!data && !error && <Skeleton lines={1} />}
      {error && <Problem error={error} onRetry={reload} />}
      {worn
        .filter((bracelet) => bracelet.serial_number !== device?.serial_number)
        .map((bracelet) => (
          <p class="small" key={bracelet.id}>
            <b>{bracelet.serial_number}</b> {bracelet.device_type} <span class="soft">assigned</span>
          </p>
        ))}
      {data && worn.length === 0 && !device && <p class="small soft">None is assigned.</p>}
    </section>
  );
}

export function AlarmPanel({ uuid }: { uuid: string }) {
  const { data, error, reload } = useResource<{ alarms: Alarm[] }>(paths.alarms(uuid), AGAIN_MS / 1_000);
  return (
    <section class="panel" aria-labelledby="alarm-title">
      <h2 id="alarm-title">Alarms</h2>
      {!data && !error && <Skeleton lines={2} />}
      {error && <Problem error={error} onRetry={reload} />}
      {data?.alarms.length === 0 && <p class="small soft">None is set.</p>}
      <ul class="plain small">
        {data?.alarms.map((alarm) => (
          <li key={alarmText(alarm)}>{alarmText(alarm)}</li>
        ))}
      </ul>
    </section>
  );
}
