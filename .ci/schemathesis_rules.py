"""What holds of requests and no schema can state. A request that fits the document is made right in it, and nothing else.

Each rule is a function of a request, under the operations that it is of, with the reason why the document does not say it.
"""

import base64
import copy
import datetime
import itertools
import re

import schemathesis_scene as scene

ZONES = ("Europe/Zurich", "UTC", "Pacific/Apia", "America/Argentina/Buenos_Aires")
DAY_MS = 86_400_000
HALF_HOUR = datetime.timedelta(minutes=30)
LONGEST_SUMMARIES = datetime.timedelta(days=3_659)

NUMBERS = itertools.count()

RULES = {}


def rule(*labels):
    """Adds a function of a request to its operations."""
    def add(function):
        for label in labels:
            RULES.setdefault(label, []).append(function)
        return function
    return add


def body_rule(*labels):
    """Adds a function of a body that is an object; it is given a copy, as examples of the document are shared."""
    def add(function):
        def change(case):
            if isinstance(case.body, dict):
                body = copy.deepcopy(case.body)
                function(body)
                if body != case.body:
                    case.body = body
        return rule(*labels)(change)
    return add


def put(container, **values):
    """Sets what is another than it was."""
    for name, value in values.items():
        if container.get(name) != value:
            container[name] = value


def in_order(container, first, last):
    """Exchanges two values of which the first is the larger."""
    if first in container and last in container and container[first] > container[last]:
        container[first], container[last] = container[last], container[first]


def instant(text):
    """A time of RFC 3339. Years at both ends have no neighbours in another zone."""
    text = re.sub(r"(\.\d{1,6})\d*", r"\1", text)
    time = datetime.datetime.fromisoformat(text)
    return time.replace(year=min(max(time.year, 2), 9998), day=min(time.day, 28))


# How two values relate: no keyword compares them.

@rule("GET /health/user-summaries")
def days_are_in_order_and_ten_years_at_most(case):
    first, last = sorted(datetime.date.fromisoformat(case.query[name]) for name in ("date_from", "date_to"))
    last = min(last, first + LONGEST_SUMMARIES if first.year < 9000 else last)
    first = max(first, last - LONGEST_SUMMARIES if last.year > 1000 else first)
    put(case.query, date_from=first.isoformat(), date_to=last.isoformat())


@rule("GET /integration/v1/security/events")
def security_events_are_read_from_the_begin(case):
    # A cursor is one that the service has given, and nobody can make one up.
    case.query.pop("after", None)
    if "from" in case.query and "to" in case.query and float(case.query["from"]) > float(case.query["to"]):
        put(case.query, **{"from": case.query["to"], "to": case.query["from"]})


@rule("GET /integration/v1/groups/{group_code}/events")
def events_are_read_from_now_or_from_the_oldest(case):
    # A cursor is one that the service has given. A wait is as long as the client's own patience.
    if "after" in case.query:
        put(case.query, after="oldest")
    if "wait" in case.query:
        put(case.query, wait=min(int(case.query["wait"]), 1))


@rule("GET /integration/v1/patients/audit/logs")
def times_are_in_order(case):
    first, last = sorted(float(case.query[name]) for name in ("from", "to"))
    if float(case.query["from"]) > float(case.query["to"]):
        put(case.query, **{"from": first, "to": last})


@rule("GET /portal/api/groups/{code}/compliance")
def days_of_a_heat_map_are_in_order_and_ninety_two_at_most(case):
    first, last = sorted(datetime.date.fromisoformat(case.query[name]) for name in ("from", "to"))
    last = min(last, first + datetime.timedelta(days=91) if first.year < 9999 else last)
    put(case.query, **{"from": first.isoformat(), "to": last.isoformat()})


@rule("GET /portal/api/patients/{uuid}/news", "GET /portal/api/patients/{uuid}/series")
def times_of_a_chart_are_in_order_and_four_hundred_days_at_most(case):
    first, last = sorted(int(case.query[name]) for name in ("from", "to"))
    put(case.query, **{"from": first, "to": min(last, first + 400 * DAY_MS)})


@rule("GET /integration/v1/patients/{uuid}/raw-data-compliance")
def utc_times_are_in_order_and_two_days_at_most(case):
    first, last = sorted(instant(case.query[name]) for name in ("utc_date_from", "utc_date_to"))
    last = min(last, first + datetime.timedelta(days=2))
    texts = [time.replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z" for time in (first, last)]
    put(case.query, utc_date_from=texts[0], utc_date_to=texts[1])


@body_rule("POST /integration/v1/create-afib-export/{uuid}")
def times_are_in_order_and_a_month_at_most(body):
    in_order(body, "timestamp_from", "timestamp_to")
    body["timestamp_to"] = min(body["timestamp_to"], body["timestamp_from"] + 31 * DAY_MS)


@body_rule("POST /integration/v1/create-export/{uuid}", "POST /integration/v1/create-export/{uuid}/{data_type}")
def local_times_are_in_order(body):
    # As text: of one form they have the order of the times.
    in_order(body, "client_date_from", "client_date_to")


@body_rule("PUT /integration/v1/patients/{uuid}/alarms")
def lower_threshold_is_below_the_upper(body):
    for alarm in body["alarms"]:
        below, above = alarm.get("below"), alarm.get("above")
        if below is not None and above is not None:
            alarm["below"], alarm["above"] = (min(below, above), max(below, above)) if below != above else (below, None)


# What is known outside of the request: a clock, a list of zones, a stored password, a body shared by two operations.

@body_rule("PUT /integration/v1/patients/{uuid}/profile", "PATCH /users/me", "POST /users/activate")
def birthday_has_been_and_is_of_somebody_alive(body):
    if body.get("birthday") is not None:
        day = datetime.date.fromisoformat(body["birthday"])
        if not 1880 <= day.year < 2020:
            body["birthday"] = day.replace(year=1880 + day.year % 140, day=min(day.day, 28)).isoformat()


@body_rule("PATCH /integration/v1/patients/{uuid}", "PATCH /users/me", "POST /users/activate", "POST /health/v1/sync")
def zone_of_a_body_is_known(body):
    if body.get("time_zone") is not None:
        body["time_zone"] = ZONES[len(body["time_zone"]) % len(ZONES)]


@rule("POST /health/v1/sync/{type}")
def zone_of_a_query_is_known(case):
    if case.query.get("time_zone") is not None:
        put(case.query, time_zone=ZONES[len(case.query["time_zone"]) % len(ZONES)])


@body_rule("POST /integration/v1/bracelets")
def serial_number_is_not_registered_yet(body):
    # Else the same request has another answer when it comes again, at which the phase of links ends.
    body["serial_number"] = f"{next(NUMBERS)} {body['serial_number'][:80]}".strip()


@body_rule("PATCH /users/me")
def email_comes_with_the_present_password(body):
    if "email" in body:
        body["password"] = scene.PASSWORD
    if list(body) == ["password"]:
        # It goes along with something that changes.
        body["country"] = "Chile"


def not_easily_guessed(field):
    """A rule of a new password: neither a common one nor one of the account's own words, of which no schema knows."""
    def change(body):
        if body.get(field) is not None:
            body[field] = (body[field] + " wherever 7 herons wade")[-1024:]
    return change


body_rule("POST /users/activate", "POST /integration/v1/patients/{uuid}/reset-password")(not_easily_guessed("password"))
body_rule("POST /users/login", "POST /users/auth/password")(not_easily_guessed("new_password"))
body_rule("PUT /portal/api/account/password")(not_easily_guessed("new"))


@body_rule("POST /users/auth/password")
def password_is_the_present_one_and_the_new_one_another(body):
    body["password"] = scene.PASSWORD
    if body["new_password"] == scene.PASSWORD:
        body["new_password"] += "!"


@body_rule("PUT /portal/api/account/password")
def password_of_the_account_is_the_present_one(body):
    body["current"] = scene.PASSWORD
    if body["new"] == scene.PASSWORD:
        body["new"] += "!"


@body_rule("DELETE /portal/api/totp", "POST /portal/api/totp/recovery-codes")
def password_is_that_of_the_account(body):
    body["password"] = scene.PASSWORD


# Whose credentials there are: the document cannot name them.

@body_rule("POST /users/login")
def login_is_of_a_patient(body):
    patient = scene.enrol() if body.get("new_password") is not None else scene.person()
    body.pop("email", None)
    body.update(code=patient["code"], password=scene.PASSWORD)


@body_rule("POST /health/login")
def token_of_the_users_cloud_is_one(body):
    body["user_api_token"] = scene.MAIN_TOKEN["users"]


@body_rule("POST /users/activate")
def voucher_is_not_used_yet(body):
    body["code"] = scene.new_voucher()


@body_rule("POST /portal/session")
def login_is_of_an_account(body):
    body.update(email=scene.SETTING["EMAIL"], password=scene.PASSWORD)
    body.pop("totp", None)


@body_rule("POST /portal/api/keys")
def key_ends_later_and_is_of_a_study_of_the_account(body):
    if body.get("expires_at") is not None:
        body["expires_at"] = "2100-01-01T00:00:00Z"
    if body.get("groups"):
        body["groups"] = [scene.SETTING["GROUP"]]


@body_rule("POST /integration/v1/create-export/{uuid}")
def types_are_named_where_the_address_names_none(body):
    if not body.get("types"):
        body["types"] = ["activity"]


# Which parameters of a query go together, and the length of the range: no keyword is about more than one parameter.

@rule("GET /health/v2/raw-metrics/{raw_metric_type}")
def window_has_both_ends_on_one_clock_and_half_an_hour_at_most(case):
    named = {name: value for name, value in case.query.items() if value and name.startswith(("from_", "to_"))}
    clock = "client_date" if named and not {"from_date", "to_date"} & set(named) else "date"
    ends = [instant(named[name]) for name in ("from_" + clock, "to_" + clock) if name in named]
    first = min(ends, default=datetime.datetime(2025, 11, 20, tzinfo=datetime.timezone.utc))
    last = min(max(ends, default=first), first + HALF_HOUR)
    if clock == "date":
        last = last.astimezone(first.tzinfo)
    for name in named:
        del case.query[name]
    put(case.query, **{"from_" + clock: first.isoformat(), "to_" + clock: last.isoformat()})


# How long arrays are, and how many digits a number has: no keyword compares the one or counts the other.

@body_rule("POST /health/v1/sync")
def columns_are_of_one_length(body):
    for forms in body["data"].values():
        for block in [forms] if isinstance(forms, dict) else forms:
            if "start" in block or isinstance(block.get("timestamp"), list):
                one_length(block)


def one_length(block):
    columns = [name for name in block if name not in ("timestamp", "start", "rate_hz", "date")]
    if "start" in block and not columns:
        # Samples of no column have no number.
        block["timestamp"] = [block.pop("start")]
        block.pop("rate_hz")
    if "start" in block:
        # A time is read to the last digit, of which there may be twelve.
        block["start"] = round(block["start"], 3)
        # A slower one reaches beyond all times.
        block["rate_hz"] = max(block["rate_hz"], 0.001)
        if not any(isinstance(block[name], list) for name in columns):
            block[columns[0]] = [block[columns[0]]]
        rows = next(len(block[name]) for name in columns if isinstance(block[name], list))
    else:
        rows = len(block["timestamp"])
    for name in columns:
        values = block[name]
        if isinstance(values, list) and len(values) != rows:
            block[name] = [values[row % len(values)] for row in range(rows)] if values else None
            if not values:
                del block[name]


# Which OAuth client there is, and which codes and tokens it has been given: the document cannot name them.

@rule("GET /health/oauth/authorize")
def client_is_registered_with_its_address(case):
    put(case.query, client_id=scene.CLIENT["ID"], redirect_uri=scene.CLIENT["ADDRESS"])
    # Both or none: no keyword is about two parameters.
    if case.query.get("code_challenge") or case.query.get("code_challenge_method"):
        put(case.query, code_challenge=scene.CHALLENGE, code_challenge_method="S256")


@rule("POST /health/oauth/authorize")
def form_is_of_a_page_that_this_browser_was_shown(case):
    page = scene.Page()
    if case.body["action"] != "login":
        page.log_in()
    else:
        case.body = {name: value for name, value in case.body.items() if name != "new_password"}
        case.body.update(name=scene.person()["code"], password=scene.PASSWORD)
    case.body = {**case.body, "ticket": page.ticket}
    case.headers["Cookie"] = page.cookies()


@rule("POST /health/oauth/introspect", "POST /health/oauth/revoke", "POST /health/oauth/token")
def client_shows_its_secret_in_one_place(case):
    body = {**case.body, "client_id": scene.CLIENT["ID"], "client_secret": scene.CLIENT["SECRET"]}
    if "Authorization" in case.headers:
        basic = base64.b64encode(":".join(scene.CLIENT[name] for name in ("ID", "SECRET")).encode()).decode()
        case.headers["Authorization"] = "Basic " + basic
        del body["client_secret"]
    case.body = body


@rule("POST /health/oauth/introspect", "POST /health/oauth/revoke")
def token_is_of_this_client_or_of_nobody(case):
    # Those that other answers have named are of others.
    if case.body["token"].startswith("eyJ") or len(case.body["token"]) % 2:
        case.body = {**case.body, "token": scene.new_refresh_token()}


@rule("POST /health/oauth/token")
def grant_is_one_that_was_given(case):
    if case.body["grant_type"] == "refresh_token":
        # Not more than was consented to.
        case.body = {**case.body, "refresh_token": scene.new_refresh_token(), "scope": "patient.read"}
    else:
        case.body = {**case.body, **scene.code_fields()}


# What there is to remove and to read: an address names it, and it has to be there.

@rule("DELETE /integration/v1/groups/{group_code}")
def group_is_empty(case):
    case.path_parameters["group_code"] = scene.new_group()


@rule("DELETE /integration/v1/groups/{group_code}/hcps/{uuid}")
def account_is_a_member(case):
    case.path_parameters["uuid"] = scene.new_member()


@rule("DELETE /integration/v1/groups/{group_code}/patients/{uuid}")
def patient_is_in_another_group_too(case):
    case.path_parameters["group_code"], case.path_parameters["uuid"] = scene.patient_of_another_group()


@rule("PUT /integration/v1/patients/{uuid}/bracelets/{serial}")
def bracelet_is_worn_by_nobody(case):
    case.path_parameters["serial"] = scene.new_bracelet()


@rule("DELETE /integration/v1/patients/{uuid}/bracelets/{serial}")
def bracelet_is_worn_by_the_patient(case):
    serial = scene.new_bracelet()
    scene.integration("PUT", f"/patients/{case.path_parameters['uuid']}/bracelets/{serial}")
    case.path_parameters["serial"] = serial


@rule("GET /integration/v1/erasures/{uuid}")
def patient_was_erased(case):
    case.path_parameters["uuid"] = scene.erased()


@rule("GET /integration/downloads/{name}")
def archive_is_there_and_the_link_signed(case):
    name, signature = scene.download()
    case.path_parameters["name"] = name
    put(case.query, **signature)


@rule("DELETE /users/auth/consents/{id}")
def consent_was_given_by_the_caller(case):
    if case.headers.get("Authorization") == "Bearer " + scene.MAIN_TOKEN["users"]:
        case.headers["Authorization"] = "Bearer " + scene.person()["users"]
        case.path_parameters["id"] = scene.consent()
