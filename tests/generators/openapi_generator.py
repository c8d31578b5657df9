"""The scenario with the client that openapi-generator makes for Python."""

import datetime
import os
import time
import urllib.request

import generated

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
    anyone = generated.ApiClient(generated.Configuration(host=ABOUT["URL"]))
    logins = generated.LoginsApi(anyone)
    request = generated.LoginRequest(email=ABOUT["EMAIL"], password=ABOUT["PASSWORD"])
    users = logins.users_post_login(request)
    health = logins.health_post_login(generated.TokenExchange(user_api_token=users.token))
    patient = generated.ApiClient(generated.Configuration(host=ABOUT["URL"], access_token=health.token))
    researcher = generated.Configuration(host=ABOUT["URL"], api_key={"api_key_header": ABOUT["KEY"]})
    researcher = generated.ApiClient(researcher)

    begin, minutes = int(ABOUT["BEGIN_MS"]), int(ABOUT["MINUTES"])
    times = [begin + minute * 60_000 for minute in range(minutes)]
    columns = {"timestamp": times, "bpm": [60 + minute for minute in range(minutes)], "wearing": 4}
    receipt = generated.SyncApi(patient).health_post_sync(generated.Sync.from_dict({"data": {"activity": columns}}))
    stored = receipt.types["activity"].stored

    patients = generated.PatientsApi(researcher)
    list_of_study = lambda: patients.integration_get_groups_group_code_patients(ABOUT["GROUP"], with_latest_values="1")
    own = lambda rows: next(row for row in rows if row.uuid == ABOUT["UUID"])
    listed = until(list_of_study, lambda rows: own(rows).latest_values and own(rows).latest_values.heart_rate)
    latest = own(listed).latest_values.heart_rate

    summaries = generated.SummariesApi(researcher)
    day = datetime.date.fromisoformat(ABOUT["DATE"])
    read = lambda: summaries.integration_get_patients_uuid_summary_date(ABOUT["UUID"], day, include_slots="1")
    measured = lambda day: [slot for slot in (day.heart_rate and day.heart_rate.slots) or [] if slot.bpm is not None]
    slots = measured(until(read, lambda day: len(measured(day)) == minutes // 5))

    # As they come: to the generated types, which allow any field, a row is of several.
    raw = generated.RawMetricsApi(patient).health_get_raw_metrics_raw_metric_type_without_preload_content(
        "activity", from_date=iso(times[0]), to_date=iso(times[-1])
    )
    rows = [generated.ActivityRow.from_dict(row) for row in raw.json()]
    assert [row.bpm for row in rows] == columns["bpm"], rows

    exports = generated.ExportsApi(researcher)
    begun = exports.integration_post_create_export_uuid(
        ABOUT["UUID"],
        generated.ExportRequest(
            types=["activity"], client_date_from=f"{ABOUT['DATE']}T00:00:00", client_date_to=f"{ABOUT['DATE']}T23:59:59"
        ),
    )
    done = until(lambda: exports.integration_get_export_export_id(begun.id), lambda export: export.download_url)
    with urllib.request.urlopen(done.download_url, timeout=20) as archive:
        first = archive.read(2).decode()
    print(f"stored {stored} latest {latest:.0f} slots {len(slots)} rows {len(rows)} archive {first}")


main()
