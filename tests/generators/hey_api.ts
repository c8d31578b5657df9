// The client of hey-api.

import { createClient, type Client as Connection } from "./hey/client";
import * as api from "./hey";
import { about, run, type Activity, type Client } from "./scenario";

const options = { throwOnError: true } as const;

class HeyApi implements Client {
  private patient!: Connection;
  private researcher!: Connection;

  async logIn(email: string, password: string) {
    const baseUrl = about("URL");
    const anyone = createClient({ baseUrl });
    const users = await api.usersPostLogin({ client: anyone, body: { email, password }, ...options });
    const exchange = { user_api_token: users.data.token };
    const health = await api.healthPostLogin({ client: anyone, body: exchange, ...options });
    this.patient = createClient({ baseUrl, auth: health.data.token });
    this.researcher = createClient({ baseUrl, headers: { "X-Api-Key": about("KEY") } });
  }

  async sync(activity: Activity) {
    const receipt = await api.healthPostSync({ client: this.patient, body: { data: { activity } }, ...options });
    return receipt.data.types["activity"]!.stored;
  }

  async latestHeartRate(group_code: string, uuid: string) {
    const of = { path: { group_code }, query: { with_latest_values: "1" } } as const;
    const rows = await api.integrationGetGroupsGroupCodePatients({ client: this.researcher, ...of, ...options });
    return rows.data.find((row) => row.uuid === uuid)?.latest_values?.heart_rate;
  }

  async slotRates(uuid: string, date: string) {
    const of = { path: { uuid, date }, query: { include_slots: "1" } } as const;
    const day = await api.integrationGetPatientsUuidSummaryDate({ client: this.researcher, ...of, ...options });
    return (day.data.heart_rate?.slots ?? []).map((slot) => slot.bpm).filter((rate) => rate !== null);
  }

  async rawRates(begin: Date, end: Date) {
    const query = { from_date: begin.toISOString(), to_date: end.toISOString() };
    const of = { path: { raw_metric_type: "activity" }, query } as const;
    const rows = await api.healthGetRawMetricsRawMetricType({ client: this.patient, ...of, ...options });
    return (rows.data as api.ActivityRow[]).map((row) => row.bpm);
  }

  async export(uuid: string, dateFrom: string, dateTo: string) {
    const body: api.ExportRequest = { types: ["activity"], client_date_from: dateFrom, client_date_to: dateTo };
    const of = { path: { uuid }, body };
    return (await api.integrationPostCreateExportUuid({ client: this.researcher, ...of, ...options })).data.id;
  }

  async downloadUrl(export_id: string) {
    const of = { path: { export_id } };
    return (await api.integrationGetExportExportId({ client: this.researcher, ...of, ...options })).data.downloadUrl;
  }
}

run(new HeyApi());
