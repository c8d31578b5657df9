// The scenario with the client that openapi-generator makes for TypeScript's fetch.

import * as api from "./fetch";

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
  const basePath = about("URL");
  const logins = new api.LoginsApi(new api.Configuration({ basePath }));
  const users = await logins.usersPostLogin({ loginRequest: { email: about("EMAIL"), password: about("PASSWORD") } });
  const health = await logins.healthPostLogin({ tokenExchange: { userApiToken: users.token } });
  const patient = new api.Configuration({ basePath, accessToken: health.token });
  const researcher = new api.Configuration({ basePath, apiKey: about("KEY") });

  const begin = Number(about("BEGIN_MS"));
  const minutes = Array.from({ length: Number(about("MINUTES")) }, (_, minute) => minute);
  const timestamp = minutes.map((minute) => begin + minute * 60_000);
  const activity = { timestamp, bpm: minutes.map((minute) => 60 + minute), wearing: 4 };
  const receipt = await new api.SyncApi(patient).healthPostSync({ sync: { data: { activity } } });
  const stored = receipt.types["activity"]!.stored;

  const uuid = about("UUID");
  const listed = await until(
    async () => {
      const of = { groupCode: about("GROUP"), withLatestValues: "1" } as const;
      const rows = await new api.PatientsApi(researcher).integrationGetGroupsGroupCodePatients(of);
      return rows.find((row) => row.uuid === uuid)?.latestValues?.heartRate;
    },
    (latest) => latest != null,
  );

  const slots = await until(
    async () => {
      const of = { uuid, date: new Date(about("DATE")), includeSlots: "1" } as const;
      const day = await new api.SummariesApi(researcher).integrationGetPatientsUuidSummaryDate(of);
      return (day.heartRate?.slots ?? []).filter((slot) => slot.bpm !== null);
    },
    (measured) => measured.length === minutes.length / 5,
  );

  const rows = await new api.RawMetricsApi(patient).healthGetRawMetricsRawMetricType({
    rawMetricType: "activity",
    fromDate: new Date(begin),
    toDate: new Date(timestamp.at(-1)!),
  });
  const samples = rows as api.ActivityRow[];
  if (samples.some((row, minute) => row.bpm !== activity.bpm[minute])) throw new Error(JSON.stringify(samples));

  const exports = new api.ExportsApi(researcher);
  const begun = await exports.integrationPostCreateExportUuid({
    uuid,
    exportRequest: {
      types: ["activity"],
      clientDateFrom: `${about("DATE")}T00:00:00`,
      clientDateTo: `${about("DATE")}T23:59:59`,
    },
  });
  const url = await until(
    async () => (await exports.integrationGetExportExportId({ exportId: begun.id })).downloadUrl,
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
