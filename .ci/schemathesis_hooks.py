"""What .ci/schemathesis does to requests on their way: those that are meant to be right are made so in what no schema states."""

import random

import schemathesis
from hypothesis import strategies
from schemathesis_rules import RULES
from schemathesis_scene import MAIN_TOKEN, SETTING, arrow_streams, enrol

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

# A format of the OpenAPI registry: date and time of RFC 3339 without the zone.
schemathesis.openapi.format("date-time-local", strategies.datetimes().map(lambda time: time.isoformat()))

# Of each operation, the patient that it may end.
spares = {}


def spare(label):
    if spares.get(label) is None:
        spares[label] = enrol()
    return spares[label]


def is_right(case):
    return case.meta is not None and case.meta.generation.mode.is_positive


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
    if is_right(case):
        for rule in RULES.get(label, ()):
            rule(case)
    # Nobody is at the address of the OAuth client.
    kwargs["allow_redirects"] = False
    # Wrong passwords are tried from everywhere, so that the back-off of an address does not end the run early.
    case.headers["X-Forwarded-For"] = ".".join(str(random.randint(1, 254)) for _ in range(4))


@schemathesis.hook
def after_call(context, case, response):
    if response.status_code < 300 and case.operation.label in spares:
        spares[case.operation.label] = None


@schemathesis.serializer("application/vnd.apache.arrow.stream", "application/octet-stream")
def as_bytes(context, value):
    """Bytes of an Arrow stream, of which a schema states nothing. Whatever else is wrong of a request, they are right."""
    stream = arrow_streams().get((context.case.path_parameters or {}).get("type"))
    return stream if stream is not None else repr(value).encode()
