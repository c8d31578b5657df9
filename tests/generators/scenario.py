"""The scenario with any client that is generated for Python.

A client has a method for each call that the scenario makes, and returns plain values, so that the scenario is the same for all:

    log_in(email, password)                     on both clouds, from where on it calls as the patient and as the researcher
    sync(columns)                               rows that were stored
    latest_heart_rate(group, uuid)              of the list of the study; None before there is any
    heart_rate_slots(uuid, day)                 slots of the day that have a heart rate
    heart_rates(begin, end)                     of the raw rows of an interval
    export(uuid, date_from, date_to)            identity of the export
    download_url(export)                        address of its archive; None before it is there
"""

import datetime
import os
import time
import urllib.request

ABOUT = {name.removeprefix("SCENARIO_"): value for name, value in os.environ.items() if name.startswith("SCENARIO_")}


def until(ask, is_there):
    """Asks again, since what is derived comes a moment after the sync that it is made of."""
    for _ in range(100):
        answer = ask()
        if is_there(answer):
            return answer
        time.sleep(0.2)
    raise SystemExit("what was waited for did not come")


def instant(ms):
    return datetime.datetime.fromtimestamp(ms / 1000, datetime.timezone.utc)


def run(client):
    """Does all of it and prints the line that is the same for all clients."""
    begin, minutes, uuid, date = int(ABOUT["BEGIN_MS"]), int(ABOUT["MINUTES"]), ABOUT["UUID"], ABOUT["DATE"]
    times = [begin + minute * 60_000 for minute in range(minutes)]
    rates = [60 + minute for minute in range(minutes)]
    client.log_in(ABOUT["EMAIL"], ABOUT["PASSWORD"])
    stored = client.sync({"timestamp": times, "bpm": rates, "wearing": 4})
    latest = until(lambda: client.latest_heart_rate(ABOUT["GROUP"], uuid), lambda rate: rate is not None)
    day = datetime.date.fromisoformat(date)
    slots = until(lambda: client.heart_rate_slots(uuid, day), lambda slots: len(slots) == minutes // 5)
    rows = client.heart_rates(instant(times[0]), instant(times[-1]))
    assert rows == rates, rows
    export = client.export(uuid, f"{date}T00:00:00", f"{date}T23:59:59")
    address = until(lambda: client.download_url(export), lambda address: address is not None)
    with urllib.request.urlopen(address, timeout=20) as archive:
        first = archive.read(2).decode()
    print(f"stored {stored} latest {latest:.0f} slots {len(slots)} rows {len(rows)} archive {first}")
