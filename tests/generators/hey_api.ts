// The scenario with the client of hey-api.

import { createClient } from "./hey/client";
import * as api from "./hey";

const about = (name: string) => process.env[`SCENARIO_${name}`] ?? "";

/** What is derived comes a moment after the sync that it is made of. */
async function until<T>(ask: () => Promise<T>, isThere: (answer: T) => boolean): Promise<T> {
  for (let tries = 0; tries < 100; tries += 1) {
    const answer = await ask();
    if (isThere(answer)) return answer;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  throw new Error("what was waited for did not come");
}

async function main() {
  const baseUrl = about("URL");
  const options = { throwOnError: true } as const;
  const anyone = createClient({ baseUrl });
  const login = { email: about("EMAIL"), password: about("PASSWORD") };
  const users = await api.usersPostLogin({ client: anyone, body: login, ...options });
  const exchange = { user_api_token: users.data.token };
  const health = await api.healthPostLogin({ client: anyone, body: exchange, ...options });
  const patient = createClient({ baseUrl, auth: health.data.token });
  const researcher = createClient({ baseUrl, headers: { "X-Api-Key": about("KEY") } });

  const begin = Number(about("BEGIN_MS"));
  const minutes = Array.from({ length: Number(about("MINUTES")) }, (_, minute) => minute);
  const timestamp = minutes.map((minute) => begin + minute * 60_000);
  const activity = { timestamp, bpm: minutes.map((minute) => 60 + minute), wearing: 4 };
  const receipt = await api.healthPostSync({ client: patient, body: { data: { activity } }, ...options });
  const stored = receipt.data.types["activity"]!.stored;

  const path = { uuid: about("UUID") };
  const listed = await until(
    async () => {
      const of = { path: { group_code: about("GROUP") }, query: { with_latest_values: "1" } } as const;
      const rows = await api.integrationGetGroupsGroupCodePatients({ client: researcher, ...of, ...options });
      return rows.data.find((row) => row.uuid === path.uuid)?.latest_values?.heart_rate;
    },
    (latest) => latest != null,
  );

  const slots = await until(
    async () => {
      const of = { path: { ...path, date: about("DATE") }, query: { include_slots: "1" } } as const;
      const day = await api.integrationGetPatientsUuidSummaryDate({ client: researcher, ...of, ...options });
      return (day.data.heart_rate?.slots ?? []).filter((slot) => slot.bpm !== null);
    },
    (measured) => measured.length === minutes.length / 5,
  );

  const range = { from_date: new Date(begin).toISOString(), to_date: new Date(timestamp.at(-1)!).toISOString() };
  const rows = await api.healthGetRawMetricsRawMetricType({
    client: patient,
    path: { raw_metric_type: "activity" },
    query: range,
    ...options,
  });
  const samples = rows.data as api.ActivityRow[];
  if (samples.some((row, minute) => row.bpm !== activity.bpm[minute])) throw new Error(JSON.stringify(samples));

  const order: api.ExportRequest = {
    types: ["activity"],
    client_date_from: `${about("DATE")}T00:00:00`,
    client_date_to: `${about("DATE")}T23:59:59`,
  };
  const begun = await api.integrationPostCreateExportUuid({ client: researcher, path, body: order, ...options });
  const url = await until(
    async () => {
      const of = { path: { export_id: begun.data.id } };
      return (await api.integrationGetExportExportId({ client: researcher, ...of, ...options })).data.downloadUrl;
    },
    (address) => address != null,
  );
  const archive = await (await fetch(url!)).text();
  console.log(
    `stored ${stored} latest ${listed} slots ${slots.length} rows ${samples.length} archive ${archive.slice(0, 2)}`,
  );
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
