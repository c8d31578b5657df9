// The scenario with any client that is generated for TypeScript.

/** Columns of rows of activity, one a minute. */
export interface Activity {
  timestamp: number[];
  bpm: number[];
  wearing: number;
}

/** The calls that the scenario makes; each returns plain values, so that the scenario is the same for all clients. */
export interface Client {
  /** Logs in on both clouds, from where on it calls as the patient and as the researcher. */
  logIn(email: string, password: string): Promise<void>;
  /** Rows that were stored. */
  sync(activity: Activity): Promise<number>;
  /** Of the list of the study; null before there is any. */
  latestHeartRate(group: string, uuid: string): Promise<number | null | undefined>;
  /** Heart rates of the slots of a day that have one. */
  slotRates(uuid: string, date: string): Promise<(number | null | undefined)[]>;
  /** Heart rates of the raw rows of an interval. */
  rawRates(begin: Date, end: Date): Promise<(number | null | undefined)[]>;
  /** Identity of the export. */
  export(uuid: string, dateFrom: string, dateTo: string): Promise<string>;
  /** Address of its archive; null before it is there. */
  downloadUrl(id: string): Promise<string | null | undefined>;
}

export const about = (name: string) => process.env[`SCENARIO_${name}`] ?? "";

/** Asks again, since what is derived comes a moment after the sync that it is made of. */
async function until<T>(ask: () => Promise<T>, isThere: (answer: T) => boolean): Promise<T> {
  for (let tries = 0; tries < 100; tries += 1) {
    const answer = await ask();
    if (isThere(answer)) return answer;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  throw new Error("what was waited for did not come");
}

async function all(client: Client) {
  const [begin, uuid, date] = [Number(about("BEGIN_MS")), about("UUID"), about("DATE")];
  const minutes = Array.from({ length: Number(about("MINUTES")) }, (_, minute) => minute);
  const timestamp = minutes.map((minute) => begin + minute * 60_000);
  const bpm = minutes.map((minute) => 60 + minute);
  await client.logIn(about("EMAIL"), about("PASSWORD"));
  const stored = await client.sync({ timestamp, bpm, wearing: 4 });
  const latest = await until(
    () => client.latestHeartRate(about("GROUP"), uuid),
    (rate) => rate != null,
  );
  const slots = await until(
    () => client.slotRates(uuid, date),
    (rates) => rates.length === minutes.length / 5,
  );
  const rows = await client.rawRates(new Date(begin), new Date(timestamp.at(-1)!));
  if (rows.some((rate, minute) => rate !== bpm[minute])) throw new Error(JSON.stringify(rows));
  const id = await client.export(uuid, `${date}T00:00:00`, `${date}T23:59:59`);
  const address = await until(
    () => client.downloadUrl(id),
    (address) => address != null,
  );
  const archive = await (await fetch(address!)).text();
  console.log(
    `stored ${stored} latest ${latest} slots ${slots.length} rows ${rows.length} archive ${archive.slice(0, 2)}`,
  );
}

/** Does all of it and prints the line that is the same for all clients. */
export function run(client: Client) {
  all(client).catch((error) => {
    console.error(error);
    process.exit(1);
  });
}
