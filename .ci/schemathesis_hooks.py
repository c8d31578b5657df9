"""What .ci/schemathesis needs beyond its configuration."""

import os
import random

import schemathesis

# What ends a token, a password or a patient does so to one that nothing else needs.
SPARE_PATIENT = {
    "POST /integration/v1/patients/{uuid}/reset-password",
    "DELETE /integration/v1/patients/{uuid}",
}
SPARE_TOKENS = {
    "POST /health/auth/logout": "PULSEWARD_SCHEMATHESIS_SPARE_HEALTH_TOKEN",
    "GET /health/auth/refresh": "PULSEWARD_SCHEMATHESIS_SPARE_HEALTH_TOKEN",
    "POST /health/auth/refresh": "PULSEWARD_SCHEMATHESIS_SPARE_HEALTH_TOKEN",
    "POST /users/auth/logout": "PULSEWARD_SCHEMATHESIS_SPARE_USERS_TOKEN",
    "GET /users/auth/refresh": "PULSEWARD_SCHEMATHESIS_SPARE_USERS_TOKEN",
    "POST /users/auth/refresh": "PULSEWARD_SCHEMATHESIS_SPARE_USERS_TOKEN",
    "DELETE /users/me": "PULSEWARD_SCHEMATHESIS_SPARE_USERS_TOKEN",
}
# A group that something else is in, and one to lose.
SPARE_GROUP = {"DELETE /integration/v1/groups/{code}"}


@schemathesis.hook
def before_call(context, case, kwargs):
    label = case.operation.label
    if label in SPARE_PATIENT and case.path_parameters.get("uuid") == os.environ["PULSEWARD_SCHEMATHESIS_UUID"]:
        case.path_parameters["uuid"] = os.environ["PULSEWARD_SCHEMATHESIS_SPARE_UUID"]
    if label in SPARE_GROUP and "code" in case.path_parameters:
        case.path_parameters["code"] = "NOONE"
    if label in SPARE_TOKENS and "Authorization" in (case.headers or {}):
        case.headers["Authorization"] = "Bearer " + os.environ[SPARE_TOKENS[label]]
    # Wrong passwords are tried from everywhere, so that the back-off of an address does not end the run early.
    case.headers["X-Forwarded-For"] = ".".join(str(random.randint(1, 254)) for _ in range(4))


@schemathesis.serializer("application/vnd.apache.arrow.stream", "application/octet-stream")
def as_bytes(context, value):
    return value if isinstance(value, bytes) else repr(value).encode()
