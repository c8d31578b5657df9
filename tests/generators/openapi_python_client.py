"""The scenario with the client of openapi-python-client."""

import datetime
import os
import time
import urllib.request

from python_client import AuthenticatedClient, Client, models
from python_client.api.exports import integration_get_export_export_id, integration_post_create_export_uuid
from python_client.api.logins import health_post_login, users_post_login
from python_client.api.patients import integration_get_groups_group_code_patients
from python_client.api.raw_metrics import health_get_raw_metrics_raw_metric_type
from python_client.api.summaries import integration_get_patients_uuid_summary_date
from python_client.api.sync import health_post_sync

ABOUT = {name.removeprefix("SCENARIO_"): value for name, value in os.environ.items() if name.startswith("SCENARIO_")}


def until(ask, is_there):
    """What is derived comes a moment after the sync that it is made of."""
    for _ in range(100):
        answer = ask()
        if is_there(answer):
            return answer
        time.sleep(0.2)
    raise SystemExit("what was waited for did not come")


def iso(ms):
    return datetime.datetime.fromtimestamp(ms / 1000, datetime.timezone.utc)


def main():
    anyone = Client(base_url=ABOUT["URL"], raise_on_unexpected_status=True)
    request = models.LoginRequest(email=ABOUT["EMAIL"], password=ABOUT["PASSWORD"])
    users = users_post_login.sync(client=anyone, body=request)
    health = health_post_login.sync(client=anyone, body=models.TokenExchange(user_api_token=users.token))
    patient = AuthenticatedClient(base_url=ABOUT["URL"], token=health.token, raise_on_unexpected_status=True)
    researcher = AuthenticatedClient(
        base_url=ABOUT["URL"], token=ABOUT["KEY"], prefix="", auth_header_name="X-Api-Key", raise_on_unexpected_status=True
    )

    begin, minutes = int(ABOUT["BEGIN_MS"]), int(ABOUT["MINUTES"])
    times = [begin + minute * 60_000 for minute in range(minutes)]
    columns = {"timestamp": times, "bpm": [60 + minute for minute in range(minutes)], "wearing": 4}
    receipt = health_post_sync.sync(client=patient, body=models.Sync.from_dict({"data": {"activity": columns}}))
    stored = receipt.types["activity"].stored

    list_of_study = lambda: integration_get_groups_group_code_patients.sync(
        ABOUT["GROUP"], client=researcher, with_latest_values=models.IntegrationGetGroupsGroupCodePatientsWithLatestValues("1")
    )
    own = lambda rows: next(row for row in rows if str(row.uuid) == ABOUT["UUID"])
    listed = until(list_of_study, lambda rows: own(rows).latest_values and own(rows).latest_values.heart_rate)
    latest = own(listed).latest_values.heart_rate

    day = datetime.date.fromisoformat(ABOUT["DATE"])
    read = lambda: integration_get_patients_uuid_summary_date.sync(ABOUT["UUID"], day, client=researcher, include_slots=models.IntegrationGetPatientsUuidSummaryDateIncludeSlots("1"))
    measured = lambda day: [slot for slot in (day.heart_rate and day.heart_rate.slots) or [] if slot.bpm is not None]
    slots = measured(until(read, lambda day: len(measured(day)) == minutes // 5))

    rows = health_get_raw_metrics_raw_metric_type.sync(
        models.HealthGetRawMetricsRawMetricTypeRawMetricType("activity"), client=patient, from_date=iso(times[0]), to_date=iso(times[-1])
    )
    assert [row.bpm for row in rows] == columns["bpm"], rows

    order = models.ExportRequest(
        types=["activity"], client_date_from=f"{ABOUT['DATE']}T00:00:00", client_date_to=f"{ABOUT['DATE']}T23:59:59"
    )
    begun = integration_post_create_export_uuid.sync(ABOUT["UUID"], client=researcher, body=order)
    ask = lambda: integration_get_export_export_id.sync(begun.id, client=researcher)
    done = until(ask, lambda export: export.download_url)
    with urllib.request.urlopen(done.download_url, timeout=20) as archive:
        first = archive.read(2).decode()
    print(f"stored {stored} latest {latest:.0f} slots {len(slots)} rows {len(rows)} archive {first}")


main()
