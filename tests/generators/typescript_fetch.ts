// The client that openapi-generator makes for TypeScript's fetch.

import * as api from "./fetch";
import { about, run, type Activity, type Client } from "./scenario";

class Fetch implements Client {
  private patient!: api.Configuration;
  private researcher!: api.Configuration;

  async logIn(email: string, password: string) {
    const basePath = about("URL");
    const logins = new api.LoginsApi(new api.Configuration({ basePath }));
    const users = await logins.usersPostLogin({ loginRequest: { email, password } });
    const health = await logins.healthPostLogin({ tokenExchange: { userApiToken: users.token } });
    this.patient = new api.Configuration({ basePath, accessToken: health.token });
    this.researcher = new api.Configuration({ basePath, apiKey: about("KEY") });
  }

  async sync(activity: Activity) {
    const receipt = await new api.SyncApi(this.patient).healthPostSync({ sync: { data: { activity } } });
    return receipt.types["activity"]!.stored;
  }

  async latestHeartRate(groupCode: string, uuid: string) {
    const of = { groupCode, withLatestValues: "1" } as const;
    const rows = await new api.PatientsApi(this.researcher).integrationGetGroupsGroupCodePatients(of);
    return rows.find((row) => row.uuid === uuid)?.latestValues?.heartRate;
  }

  async slotRates(uuid: string, date: string) {
    const of = { uuid, date: new Date(date), includeSlots: "1" } as const;
    const day = await new api.SummariesApi(this.researcher).integrationGetPatientsUuidSummaryDate(of);
    return (day.heartRate?.slots ?? []).map((slot) => slot.bpm).filter((rate) => rate !== null);
  }

  async rawRates(fromDate: Date, toDate: Date) {
    const of = { rawMetricType: "activity", fromDate, toDate } as const;
    const rows = await new api.RawMetricsApi(this.patient).healthGetRawMetricsRawMetricType(of);
    return (rows as api.ActivityRow[]).map((row) => row.bpm);
  }

  async export(uuid: string, clientDateFrom: string, clientDateTo: string) {
    const exportRequest = { types: ["activity"], clientDateFrom, clientDateTo };
    const exports = new api.ExportsApi(this.researcher);
    return (await exports.integrationPostCreateExportUuid({ uuid, exportRequest })).id;
  }

  async downloadUrl(exportId: string) {
    return (await new api.ExportsApi(this.researcher).integrationGetExportExportId({ exportId })).downloadUrl;
  }
}

run(new Fetch());
