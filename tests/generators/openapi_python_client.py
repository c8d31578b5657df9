"""The client of openapi-python-client."""

import scenario
from python_client import AuthenticatedClient, Client as AnonymousClient, models
from python_client.api.exports import integration_get_export_export_id, integration_post_create_export_uuid
from python_client.api.logins import health_post_login, users_post_login
from python_client.api.patients import integration_get_groups_group_code_patients
from python_client.api.raw_metrics import health_get_raw_metrics_raw_metric_type
from python_client.api.summaries import integration_get_patients_uuid_summary_date
from python_client.api.sync import health_post_sync

SERVICE = {"base_url": scenario.ABOUT["URL"], "raise_on_unexpected_status": True}


class Client:
    def log_in(self, email, password):
        anyone = AnonymousClient(**SERVICE)
        users = users_post_login.sync(client=anyone, body=models.LoginRequest(email=email, password=password))
        health = health_post_login.sync(client=anyone, body=models.TokenExchange(user_api_token=users.token))
        self.patient = AuthenticatedClient(**SERVICE, token=health.token)
        key = scenario.ABOUT["KEY"]
        self.researcher = AuthenticatedClient(**SERVICE, token=key, prefix="", auth_header_name="X-Api-Key")

    def sync(self, columns):
        sync = models.Sync.from_dict({"data": {"activity": columns}})
        return health_post_sync.sync(client=self.patient, body=sync).types["activity"].stored

    def latest_heart_rate(self, group, uuid):
        latest = models.IntegrationGetGroupsGroupCodePatientsWithLatestValues("1")
        read = integration_get_groups_group_code_patients.sync
        rows = read(group, client=self.researcher, with_latest_values=latest)
        values = next(row for row in rows if str(row.uuid) == uuid).latest_values
        # What is not there is a value of its own here, which is false.
        return (values and values.heart_rate) or None

    def heart_rate_slots(self, uuid, day):
        slots = models.IntegrationGetPatientsUuidSummaryDateIncludeSlots("1")
        read = integration_get_patients_uuid_summary_date.sync
        section = read(uuid, day, client=self.researcher, include_slots=slots).heart_rate
        return [slot for slot in (section and section.slots) or [] if slot.bpm is not None]

    def heart_rates(self, begin, end):
        metric = models.HealthGetRawMetricsRawMetricTypeRawMetricType("activity")
        read = health_get_raw_metrics_raw_metric_type.sync
        return [row.bpm for row in read(metric, client=self.patient, from_date=begin, to_date=end)]

    def export(self, uuid, date_from, date_to):
        order = models.ExportRequest(types=["activity"], client_date_from=date_from, client_date_to=date_to)
        return integration_post_create_export_uuid.sync(uuid, client=self.researcher, body=order).id

    def download_url(self, export):
        return integration_get_export_export_id.sync(export, client=self.researcher).download_url or None


scenario.run(Client())
