#!/usr/bin/env python3
"""Exports against DuckDB, in one run.

    cargo build --release
    python3 -m venv target/readers && target/readers/bin/pip install duckdb
    target/readers/bin/python benchmarks/exports.py --rows 100000000

Sends ppg2 rows of three colours at 128 Hz to a service of its own, seals them, and exports them as stored CSV, deflated
CSV and Parquet while another client keeps asking. DuckDB, on one thread, reads the same segments and writes the same
columns with the same text. Prints one JSON object: rows, CPU seconds and rows per CPU second of each side, sizes, memory
above rest, the 99th percentile of the other client with and without an export, and whether the texts are equal.
"""

import argparse
import hashlib
import json
import os
import pathlib
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
BEGIN_MS = 1_763_510_400_000  # 2025-11-19T00:00Z
RATE_HZ = 128
COLOURS = ["0x7e", "0x7c", "0x7b"]
NAMES = {"0x7e": "green", "0x7c": "red", "0x7b": "infra_red"}
ROWS_OF_BLOCK = RATE_HZ * 600


def call(url, body=None, bearer=None, key=None):
    headers = {"content-type": "application/json"}
    if bearer:
        headers["authorization"] = f"Bearer {bearer}"
    if key:
        headers["x-api-key"] = key
    data = None if body is None else (body if isinstance(body, bytes) else json.dumps(body).encode())
    with urllib.request.urlopen(urllib.request.Request(url, data=data, headers=headers), timeout=600) as answer:
        return json.load(answer)


class Service:
    def __init__(self, binary, data):
        self.binary, self.data = binary, data
        command = [binary, "serve", "--data", data, "--listen", "127.0.0.1:0", "--export-interval", "0s",
                   "--rate-limit", "off"]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        for line in self.process.stderr:
            if line.startswith("listening on "):
                self.url = line.split()[-1]
                break
        threading.Thread(target=self.process.stderr.read, daemon=True).start()

    def command(self, *arguments):
        output = subprocess.check_output([self.binary, *arguments, "--data", self.data, "--json"])
        return json.loads(output)

    def cpu_s(self):
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def resident_mib(self):
        pages = int(pathlib.Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 2**20

    def stop(self):
        self.process.terminate()
        self.process.wait()


class Sampler(threading.Thread):
    """Asks for the list of groups again and again; notes how long it takes and how much memory the service holds."""

    def __init__(self, service, key):
        super().__init__(daemon=True)
        self.service, self.key, self.stopped = service, key, threading.Event()
        self.waits_ms, self.peak_mib = [], 0.0

    def run(self):
        while not self.stopped.wait(0.02):
            began = time.perf_counter()
            call(f"{self.service.url}/integration/v1/groups", key=self.key)
            self.waits_ms.append((time.perf_counter() - began) * 1000)
            self.peak_mib = max(self.peak_mib, self.service.resident_mib())

    def end(self):
        self.stopped.set()
        self.join()
        return statistics.quantiles(self.waits_ms, n=100)[98] if len(self.waits_ms) > 2 else None


def enrol(service):
    service.command("admin", "create-account", "--email", "rita@study.example", "--role", "researcher")
    key = service.command("admin", "create-api-key", "--account", "rita@study.example")["token"]
    base = f"{service.url}/integration/v1"
    group = call(f"{base}/groups", {"name": "Benchmark", "description": ""}, key=key)["code"]
    patient = call(f"{base}/groups/{group}/patients", {}, key=key)
    activation = {"code": patient["code"], "password": "a password for tests", "time_zone": "Europe/Zurich"}
    token = call(f"{service.url}/users/activate", activation)["token"]
    bearer = call(f"{service.url}/health/login", {"user_api_token": token})["token"]
    return key, patient["uuid"], bearer


def send(service, bearer, rows):
    """A pulse with noise, some minutes at a time."""
    noise = random.Random(1)
    per_colour = rows // len(COLOURS)
    wave = [30_000 + int(4_000 * abs((at % RATE_HZ) / RATE_HZ - 0.5)) for at in range(ROWS_OF_BLOCK)]
    sent = 0
    while sent < per_colour:
        count = min(ROWS_OF_BLOCK, per_colour - sent)
        blocks = []
        for colour in COLOURS:
            values = ",".join([str(value + noise.getrandbits(7)) for value in wave[:count]])
            start = BEGIN_MS + sent * 1000 / RATE_HZ
            blocks.append('{"start":%.3f,"rate_hz":%d,"metric_id":"%s","led_pd_pos":6,"quality":4,"value":[%s]}'
                          % (start, RATE_HZ, colour, values))
        body = '{"data":{"ppg2":[%s]}}' % ",".join(blocks)
        call(f"{service.url}/health/v1/sync", body.encode(), bearer=bearer)
        sent += count
    return sent * len(COLOURS)


def export(service, key, patient, target, **form):
    body = {"client_date_from": "2025-11-18T00:00:00.000", "client_date_to": "2026-11-18T00:00:00.000", "types": ["ppg2"]}
    # What was written before is on the disk: writing it out would be counted here.
    os.sync()
    rest_mib = service.resident_mib()
    sampler = Sampler(service, key)
    sampler.start()
    cpu_s, began = service.cpu_s(), time.perf_counter()
    identifier = call(f"{service.url}/integration/v1/create-export/{patient}", {**body, **form}, key=key)["id"]
    while True:
        status = call(f"{service.url}/integration/v1/export/{identifier}", key=key)
        if status["status"] != "in_progress":
            break
        time.sleep(0.2)
    wall_s, cpu_s = time.perf_counter() - began, service.cpu_s() - cpu_s
    p99_ms = sampler.end()
    assert status["status"] == "done", status
    with urllib.request.urlopen(status["downloadUrl"]) as answer, open(target, "wb") as file:
        shutil.copyfileobj(answer, file, 1 << 20)
    return {"cpu_s": cpu_s, "wall_s": wall_s, "bytes": os.path.getsize(target), "p99_ms_of_others": p99_ms,
            "mib_above_rest": sampler.peak_mib - rest_mib}


DUCKDB = r"""
import duckdb, json, resource, sys
glob, folder, packed = sys.argv[1], sys.argv[2], sys.argv[3] == "gzip"
names = {"0x7e": "green", "0x7c": "red", "0x7b": "infra_red"}
base = duckdb.connect(config={"threads": 1})
base.execute("SET enable_progress_bar = false")
columns = ["metric_id", "chunk_index", "quality", "body_pose", "led_pd_pos", '"offset"', "exp", "led", "gain", "value"]
before = resource.getrusage(resource.RUSAGE_SELF)
for metric, name in names.items():
    # The zone of these rows is one, so its offset is a constant of the query; looking it up by row is far dearer. Sums of
    # whole microseconds need no extension, as arithmetic with zones does.
    local = "make_timestamp(epoch_us(timestamp) + 3600000000)"
    query = f'''COPY (SELECT epoch_us(timestamp) // 1000 AS timestamp,
        strftime({local}, '%Y-%m-%dT%H:%M:%S.%g+01:00') AS date, {", ".join(columns)}
        FROM read_parquet('{glob}') WHERE metric_id = '{metric}')
        TO '{folder}/ppg2_{name}_6.csv{".gz" if packed else ""}' (FORMAT csv, HEADER{", COMPRESSION gzip" if packed else ""})'''
    base.execute(query)
after = resource.getrusage(resource.RUSAGE_SELF)
print(json.dumps({"cpu_s": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, "duckdb": duckdb.__version__}))
"""


def duckdb_copy(data, folder, how):
    os.makedirs(folder)
    glob = f"{data}/objects/v1/type=ppg2/*/*/*.parquet"
    output = subprocess.check_output([sys.executable, "-c", DUCKDB, glob, folder, how])
    result = json.loads(output)
    result["bytes"] = sum(file.stat().st_size for file in pathlib.Path(folder).iterdir())
    return result


def sha256(file):
    digest = hashlib.sha256()
    while piece := file.read(1 << 20):
        digest.update(piece)
    return digest.hexdigest()


def same_text(archive, folder):
    """Whether DuckDB wrote what is in the archive. It ends its lines and writes its header as we do."""
    with zipfile.ZipFile(archive) as packed:
        for metric in COLOURS:
            name = f"ppg2_{NAMES[metric]}_6.csv"
            with packed.open(name) as ours, open(f"{folder}/{name}", "rb") as theirs:
                if sha256(ours) != sha256(theirs):
                    return False
    return True


def stored_zip_rate(source, target):
    """Bytes per CPU second at which Python's C zip writer stores the same bytes: the ceiling of the Parquet archive."""
    os.sync()
    began = time.process_time()
    with zipfile.ZipFile(source) as packed, zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as plain:
        total = 0
        for entry in packed.infolist():
            with packed.open(entry) as read, plain.open(entry.filename, "w", force_zip64=True) as write:
                shutil.copyfileobj(read, write, 1 << 20)
            total += entry.file_size
    return total / (time.process_time() - began)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=100_000_000, help="ppg2 rows; 100 million are three patient-days")
    parser.add_argument("--binary", default=str(ROOT / "target/release/pulseward"))
    parser.add_argument("--folder", help="where to work; default: a temporary folder")
    parser.add_argument("--keep", action="store_true", help="keep the folder")
    given = parser.parse_args()
    folder = given.folder or tempfile.mkdtemp(prefix="pulseward-exports-")
    data = os.path.join(folder, "data")
    service = Service(given.binary, data)
    try:
        key, patient, bearer = enrol(service)
        rows = send(service, bearer, given.rows)
        service.command("seal", "--now")
        # At rest: what the uploads needed has been given back.
        service.stop()
        service = Service(given.binary, data)
        time.sleep(2)
        quiet = Sampler(service, key)
        quiet.start()
        time.sleep(5)
        result = {"rows": rows, "p99_ms_without_export": quiet.end()}
        archives = {name: os.path.join(folder, f"{name}.zip") for name in ["csv_store", "csv_deflate", "parquet"]}
        result["csv_store"] = export(service, key, patient, archives["csv_store"], compression="store")
        result["csv_deflate"] = export(service, key, patient, archives["csv_deflate"])
        result["parquet"] = export(service, key, patient, archives["parquet"], format="parquet")
        for side, how in [("duckdb_csv", "none"), ("duckdb_csv_gz", "gzip")]:
            result[side] = duckdb_copy(data, os.path.join(folder, side), how)
        for side in ["csv_store", "csv_deflate", "parquet", "duckdb_csv", "duckdb_csv_gz"]:
            result[side]["rows_per_cpu_s"] = rows / max(result[side]["cpu_s"], 1e-3)
        result["same_text"] = same_text(archives["csv_store"], os.path.join(folder, "duckdb_csv"))
        stored = stored_zip_rate(archives["parquet"], os.path.join(folder, "stored.zip"))
        result["ratios"] = {
            "csv_store_to_duckdb": result["csv_store"]["rows_per_cpu_s"] / result["duckdb_csv"]["rows_per_cpu_s"],
            "csv_deflate_to_duckdb_gz":
                result["csv_deflate"]["rows_per_cpu_s"] / result["duckdb_csv_gz"]["rows_per_cpu_s"],
            "csv_deflate_size_to_duckdb_gz": result["csv_deflate"]["bytes"] / result["duckdb_csv_gz"]["bytes"],
            "parquet_to_stored_zip": result["parquet"]["bytes"] / max(result["parquet"]["cpu_s"], 1e-3) / stored,
        }
        print(json.dumps(result, indent=2))
    finally:
        service.stop()
        if not given.keep and not given.folder:
            shutil.rmtree(folder)


if __name__ == "__main__":
    main()
