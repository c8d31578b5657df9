"""What .ci/schemathesis does to requests on their way: those that are meant to be right are made so in what no schema states."""

import os
import random

import schemathesis
from hypothesis import strategies
from schemathesis_rules import RULES
from schemathesis_scene import CLIENT, MAIN_TOKEN, SESSION_COOKIE, SETTING, Account, arrow_streams, enrol, new_client, new_key, new_session
from schemathesis_scene import own_key, own_session

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

# What ends a session, or asks for a second factor from then on, does so to an account that nothing else needs.
OF_ACCOUNT = {
    "DELETE /portal/session": Account,
    "PUT /portal/api/account/password": Account,
    "POST /portal/api/totp": Account,
    "PUT /portal/api/totp": lambda: Account().with_waiting_factor(),
    "DELETE /portal/api/totp": lambda: Account().with_factor(),
    "GET /portal/api/totp/recovery-codes": lambda: Account().with_factor(),
    "POST /portal/api/totp/recovery-codes": lambda: Account().with_factor(),
}

# Lists of the account name what the run itself needs. Another one, made for that, is removed in its place.
NEEDED = {
    "DELETE /portal/api/sessions/{id}": ("id", own_session, new_session),
    "DELETE /portal/api/keys/{id}": ("id", own_key, new_key),
    "DELETE /portal/api/clients/{client_id}": ("client_id", lambda: CLIENT["ID"], new_client),
}

# A format of the OpenAPI registry: date and time of RFC 3339 without the zone.
schemathesis.openapi.format("date-time-local", strategies.datetimes().map(lambda time: time.isoformat()))

# Of each operation, the patient or account that it may end.
spares = {}
answered = set()
# Credentials of the run, each of which opens everything that its operations need.
ours = {SETTING["KEY"], *MAIN_TOKEN.values(), SETTING["COOKIE"]}
# Operations whose credentials are in the body, where the rules put good ones.
LOGINS = {"POST /users/login", "POST /users/activate", "POST /health/login", "POST /portal/session"}


def spare(label):
    if spares.get(label) is None:
        new = spares[label] = OF_ACCOUNT.get(label, enrol)()
        ours.update((new.cookie,) if isinstance(new, Account) else (new["users"], new["health"]))
    return spares[label]


def credentials(case):
    """What a request says that it comes from, in whichever way."""
    headers = {name.lower(): value for name, value in (case.headers or {}).items()}
    found = [headers[name] for name in ("x-api-key", "x-health-token") if name in headers]
    if "authorization" in headers:
        found.append(headers["authorization"].removeprefix("Bearer "))
    if (case.query or {}).get("token"):
        found.append(case.query["token"])
    if (case.cookies or {}).get(SESSION_COOKIE):
        # Without its token the session opens little.
        found.append(case.cookies[SESSION_COOKIE] if "x-csrf-token" in headers else "a session alone")
    return found


@schemathesis.check
def good_credential_is_taken(ctx, response, case):
    """Refused for its credential is only who has none of the run, or another one with it."""
    if response.status_code not in (401, 403) or not is_right(case):
        return
    sent = credentials(case)
    if case.operation.label in LOGINS or (sent and all(one in ours for one in sent)):
        raise AssertionError(f"refused with {response.status_code} although its credential is good")


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
    if label in OF_ACCOUNT and case.cookies.get(SESSION_COOKIE) == SETTING["COOKIE"]:
        account = spare(label)
        case.cookies[SESSION_COOKIE] = account.cookie
        if case.headers.get("X-CSRF-Token") == SETTING["CSRF_TOKEN"]:
            case.headers["X-CSRF-Token"] = account.csrf_token
        if is_right(case) and label == "PUT /portal/api/totp":
            # Of this account and of now, and good once.
            case.body = {"code": account.code()}
    if label in NEEDED:
        name, own, new = NEEDED[label]
        if (case.path_parameters or {}).get(name) == own():
            case.path_parameters[name] = new()
    if is_right(case):
        for rule in RULES.get(label, ()):
            rule(case)
    # Nobody is at the address of the OAuth client.
    kwargs["allow_redirects"] = False
    # Wrong passwords are tried from everywhere, so that the back-off of an address does not end the run early.
    case.headers["X-Forwarded-For"] = ".".join(str(random.randint(1, 254)) for _ in range(4))


@schemathesis.hook
def after_call(context, case, response):
    if response.status_code < 400 and case.operation.label not in answered:
        answered.add(case.operation.label)
        with open(os.environ["PULSEWARD_SCHEMATHESIS_ANSWERED"], "a") as file:
            file.write(case.operation.label + "\n")
    if response.status_code < 300 and case.operation.label in spares:
        spares[case.operation.label] = None


@schemathesis.serializer("application/vnd.apache.arrow.stream", "application/octet-stream")
def as_bytes(context, value):
    """Bytes of an Arrow stream, of which a schema states nothing. Whatever else is wrong of a request, they are right."""
    stream = arrow_streams().get((context.case.path_parameters or {}).get("type"))
    return stream if stream is not None else repr(value).encode()
