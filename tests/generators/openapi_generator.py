"""The client that openapi-generator makes for Python."""

import generated
import scenario


class Client:
    def log_in(self, email, password):
        logins = generated.LoginsApi(self.api())
        users = logins.users_post_login(generated.LoginRequest(email=email, password=password))
        health = logins.health_post_login(generated.TokenExchange(user_api_token=users.token))
        self.patient = self.api(access_token=health.token)
        self.researcher = self.api(api_key={"api_key_header": scenario.ABOUT["KEY"]})

    def api(self, **credential):
        return generated.ApiClient(generated.Configuration(host=scenario.ABOUT["URL"], **credential))

    def sync(self, columns):
        sync = generated.Sync.from_dict({"data": {"activity": columns}})
        return generated.SyncApi(self.patient).health_post_sync(sync).types["activity"].stored

    def latest_heart_rate(self, group, uuid):
        patients = generated.PatientsApi(self.researcher)
        rows = patients.integration_get_groups_group_code_patients(group, with_latest_values="1")
        values = next(row for row in rows if row.uuid == uuid).latest_values
        return values and values.heart_rate

    def heart_rate_slots(self, uuid, day):
        summaries = generated.SummariesApi(self.researcher)
        section = summaries.integration_get_patients_uuid_summary_date(uuid, day, include_slots="1").heart_rate
        return [slot for slot in (section and section.slots) or [] if slot.bpm is not None]

    def heart_rates(self, begin, end):
        # As they come: to the generated types, which allow any field, a row is of several.
        metrics = generated.RawMetricsApi(self.patient)
        read = metrics.health_get_raw_metrics_raw_metric_type_without_preload_content
        rows = read("activity", from_date=begin, to_date=end).json()
        return [generated.ActivityRow.from_dict(row).bpm for row in rows]

    def export(self, uuid, date_from, date_to):
        order = generated.ExportRequest(types=["activity"], client_date_from=date_from, client_date_to=date_to)
        return generated.ExportsApi(self.researcher).integration_post_create_export_uuid(uuid, order).id

    def download_url(self, export):
        return generated.ExportsApi(self.researcher).integration_get_export_export_id(export).download_url


scenario.run(Client())
