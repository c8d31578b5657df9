"""What .ci/schemathesis needs beyond its configuration."""

import os
import random

import requests
import schemathesis

SETTING = {name: os.environ["PULSEWARD_SCHEMATHESIS_" + name] for name in ("URL", "KEY", "GROUP", "UUID")}
MAIN_TOKEN = {cloud: os.environ[f"PULSEWARD_SCHEMATHESIS_{cloud.upper()}_TOKEN"] for cloud in ("users", "health")}
PASSWORD = "correct horse battery"

# What ends a token, a password or a patient does so to a patient that nothing else needs.
ENDS_PATIENT = {
    "POST /integration/v1/patients/{uuid}/reset-password",
    "DELETE /integration/v1/patients/{uuid}",
}
ENDS_TOKEN = {
    "POST /health/auth/logout": "health",
    "GET /health/auth/refresh": "health",
    "POST /health/auth/refresh": "health",
    "POST /users/auth/logout": "users",
    "GET /users/auth/refresh": "users",
    "POST /users/auth/refresh": "users",
    "POST /users/auth/password": "users",
    "DELETE /users/me": "users",
}


def enrol():
    """A patient who has used their voucher: uuid and tokens."""
    session = requests.Session()
    session.trust_env = False
    key = {"X-Api-Key": SETTING["KEY"]}
    created = session.post(f"{SETTING['URL']}/integration/v1/groups/{SETTING['GROUP']}/patients", headers=key).json()
    activation = {"code": created["code"], "password": PASSWORD}
    users = session.post(f"{SETTING['URL']}/users/activate", json=activation).json()["token"]
    health = session.post(f"{SETTING['URL']}/health/login", json={"user_api_token": users}).json()["token"]
    return {"uuid": created["uuid"], "users": users, "health": health}


# Of each operation, the patient that it may end.
spares = {}


def spare(label):
    if spares.get(label) is None:
        spares[label] = enrol()
    return spares[label]


@schemathesis.hook
def filter_case(context, case):
    """Leaves out requests that are meant to be wrong by an empty value, which is no value here."""
    is_wrong = case.meta is not None and case.meta.generation.mode.is_negative
    return not (is_wrong and any(value in ("", [""]) for value in (case.query or {}).values()))


@schemathesis.hook
def before_call(context, case, kwargs):
    label = case.operation.label
    if label in ENDS_PATIENT and (case.path_parameters or {}).get("uuid") == SETTING["UUID"]:
        case.path_parameters["uuid"] = spare(label)["uuid"]
    if label in ENDS_TOKEN:
        cloud = ENDS_TOKEN[label]
        # A wrong credential stays wrong.
        if case.headers.get("Authorization") == "Bearer " + MAIN_TOKEN[cloud]:
            case.headers["Authorization"] = "Bearer " + spare(label)[cloud]
    # Wrong passwords are tried from everywhere, so that the back-off of an address does not end the run early.
    case.headers["X-Forwarded-For"] = ".".join(str(random.randint(1, 254)) for _ in range(4))


@schemathesis.hook
def after_call(context, case, response):
    if response.status_code < 300 and case.operation.label in spares:
        spares[case.operation.label] = None


@schemathesis.serializer("application/vnd.apache.arrow.stream", "application/octet-stream")
def as_bytes(context, value):
    return value if isinstance(value, bytes) else repr(value).encode()
