"""What the requests of .ci/schemathesis act on: patients, uploads and an OAuth client of the running service."""

import base64
import functools
import hashlib
import hmac
import itertools
import json
import os
import re
import struct
import subprocess
import time
import urllib.parse

import requests

SETTING = {name: os.environ["PULSEWARD_SCHEMATHESIS_" + name] for name in ("URL", "KEY", "GROUP", "UUID", "EMAIL", "COOKIE", "CSRF_TOKEN")}
MAIN_TOKEN = {cloud: os.environ[f"PULSEWARD_SCHEMATHESIS_{cloud.upper()}_TOKEN"] for cloud in ("users", "health")}
CLIENT = {name: os.environ["PULSEWARD_SCHEMATHESIS_CLIENT_" + name] for name in ("ID", "SECRET", "ADDRESS")}
PASSWORD = "correct horse battery"
SESSION_COOKIE = "pulseward_session"
NUMBERS = itertools.count()
# The example of RFC 7636, appendix B.
VERIFIER = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
CHALLENGE = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"


def session():
    """Requests that no setting of the machine sends elsewhere."""
    new = requests.Session()
    new.trust_env = False
    return new


def answered(response):
    """An answer that has to be a good one, or the run is about nothing."""
    response.raise_for_status()
    return response


def enrol():
    """A patient who has used their voucher: uuid, code and tokens."""
    client, url = session(), SETTING["URL"]
    path = f"{url}/integration/v1/groups/{SETTING['GROUP']}/patients"
    created = answered(client.post(path, headers={"X-Api-Key": SETTING["KEY"]})).json()
    activation = {"code": created["code"], "password": PASSWORD}
    users = answered(client.post(f"{url}/users/activate", json=activation)).json()["token"]
    health = answered(client.post(f"{url}/health/login", json={"user_api_token": users})).json()["token"]
    return {"uuid": created["uuid"], "code": created["code"], "users": users, "health": health}


def new_voucher():
    """The code of a patient who has not used it."""
    path = f"{SETTING['URL']}/integration/v1/groups/{SETTING['GROUP']}/patients"
    return answered(session().post(path, headers={"X-Api-Key": SETTING["KEY"]})).json()["code"]


class Account:
    """An account with a session of the portal, which nothing else needs."""

    def __init__(self):
        self.email = f"spare-{next(NUMBERS)}@study.example"
        create = ["admin", "create-account", "--email", self.email, "--role", "researcher", "--password", PASSWORD]
        binary, data = (os.environ["PULSEWARD_SCHEMATHESIS_" + name] for name in ("BINARY", "DATA"))
        json.loads(subprocess.run([binary, *create, "--data", data, "--json"], check=True, capture_output=True).stdout)
        self.browser = session()
        opened = self.browser.post(SETTING["URL"] + "/portal/session", json={"email": self.email, "password": PASSWORD})
        self.csrf_token = answered(opened).json()["csrf_token"]
        self.cookie = self.browser.cookies[SESSION_COOKIE]
        self.browser.headers["X-CSRF-Token"] = self.csrf_token
        self.secret = None

    def with_waiting_factor(self):
        """Makes a second factor whose first code is asked for."""
        begun = self.browser.post(SETTING["URL"] + "/portal/api/totp")
        self.secret = base64.b32decode(answered(begun).json()["secret"])
        return self

    def with_factor(self):
        """Makes a second factor that is in force."""
        self.with_waiting_factor()
        answered(self.browser.put(SETTING["URL"] + "/portal/api/totp", json={"code": self.code()}))
        return self

    def code(self):
        """The present code (RFC 6238)."""
        digest = hmac.new(self.secret, struct.pack(">Q", int(time.time()) // 30), hashlib.sha1).digest()
        at = digest[-1] & 15
        return f"{(struct.unpack('>I', digest[at:at + 4])[0] & 0x7FFFFFFF) % 1_000_000:06}"


def portal(method, path, **more):
    """A request of the account of the run to the portal that has to be a good one."""
    client = session()
    client.cookies[SESSION_COOKIE] = SETTING["COOKIE"]
    client.headers["X-CSRF-Token"] = SETTING["CSRF_TOKEN"]
    return answered(client.request(method, SETTING["URL"] + "/portal" + path, **more))


@functools.cache
def own_session():
    """The id of the session that the run has."""
    return next(one["id"] for one in portal("GET", "/api/sessions").json() if one["current"])


def new_session():
    """The id of another session of the same account."""
    before = {one["id"] for one in portal("GET", "/api/sessions").json()}
    answered(session().post(SETTING["URL"] + "/portal/session", json={"email": SETTING["EMAIL"], "password": PASSWORD}))
    return next(one["id"] for one in portal("GET", "/api/sessions").json() if one["id"] not in before)


@functools.cache
def own_key():
    """The id of the key that the run has, which is the first of its account."""
    return portal("GET", "/api/keys").json()[0]["id"]


def new_key():
    """The id of a key that nothing needs."""
    return portal("POST", "/api/keys", json={"name": f"Spare {next(NUMBERS)}"}).json()["id"]


def new_client():
    """The identity of an OAuth client that nothing needs."""
    wanted = {"name": f"Spare {next(NUMBERS)}", "redirect_uris": [CLIENT["ADDRESS"]], "privacy_policy_url": "https://diary.example/privacy"}
    return portal("POST", "/api/clients", json=wanted).json()["client_id"]


def integration(method, path, **more):
    """A request to the integration API that has to be a good one."""
    url = f"{SETTING['URL']}/integration/v1{path}"
    return answered(session().request(method, url, headers={"X-Api-Key": SETTING["KEY"]}, **more))


def new_group():
    """The code of a study without patients."""
    return integration("POST", "/groups", json={"name": "Another", "description": ""}).json()["code"]


def new_bracelet():
    """The serial number of a bracelet that nobody wears."""
    serial = f"PW-spare-{next(NUMBERS)}"
    integration("POST", "/bracelets", json={"serial_number": serial, "device_type": "bracelet"})
    return serial


def new_member():
    """The uuid of an account that has joined the study."""
    path = f"/groups/{SETTING['GROUP']}/hcps"
    return integration("POST", path, json={"email": Account().email}).json()["uuid"]


def patient_of_another_group():
    """A patient and the second study that they are in."""
    group, patient = new_group(), enrol()["uuid"]
    integration("PUT", f"/groups/{group}/patients/{patient}")
    return group, patient


@functools.cache
def erased():
    """The uuid of a patient who was erased."""
    patient = enrol()["uuid"]
    integration("DELETE", f"/patients/{patient}")
    return patient


@functools.cache
def download():
    """Name and signature of an archive."""
    day = time.strftime("%Y-%m-%d", time.gmtime())
    asked = {"client_date_from": day + "T00:00:00.000", "client_date_to": day + "T23:59:59.999", "types": ["activity"]}
    export = integration("POST", f"/create-export/{SETTING['UUID']}", json=asked).json()["id"]
    for _ in range(300):
        address = integration("GET", "/export/" + export).json().get("downloadUrl")
        if address:
            parts = urllib.parse.urlsplit(address)
            return parts.path.rsplit("/", 1)[1], dict(urllib.parse.parse_qsl(parts.query))
        time.sleep(0.1)
    raise RuntimeError("the export is not done")


def consent():
    """The identity of a consent of the person who logs in on the pages."""
    new_code()
    headers = {"Authorization": "Bearer " + person()["users"]}
    return answered(session().get(SETTING["URL"] + "/users/auth/consents", headers=headers)).json()[0]["id"]


@functools.cache
def arrow_streams():
    """Of each data type a stream of one row, as the service itself writes it, which it takes back."""
    client, url = session(), SETTING["URL"]
    client.headers["Authorization"] = "Bearer " + MAIN_TOKEN["health"]
    schemas = answered(client.get(url + "/openapi.json")).json()["components"]["schemas"]
    now = int(time.time() * 1000)
    rows = {}
    for data_type, forms in schemas["Sync"]["properties"]["data"]["properties"].items():
        by_row = forms["oneOf"][-1]["items"]["$ref"].rsplit("/", 1)[-1]
        usual = {name: value["examples"][0] for name, value in schemas[by_row]["properties"].items() if "examples" in value}
        rows[data_type] = [{name: value for name, value in usual.items() if value is not None} | {"timestamp": now}]
    answered(client.post(url + "/health/v1/sync", json={"data": rows}))
    window = {name: time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(now / 1000 + seconds))
              for name, seconds in (("from_date", -60), ("to_date", 60))}
    headers = {"Accept": "application/vnd.apache.arrow.stream"}
    return {data_type: answered(client.get(f"{url}/health/v2/raw-metrics/{data_type}", params=window, headers=headers)).content
            for data_type in rows}


@functools.cache
def person():
    """The patient who logs in on the pages of OAuth."""
    return enrol()


class Page:
    """A page of the authorization address in a browser of its own."""

    def __init__(self):
        self.browser = session()
        self.address = SETTING["URL"] + "/health/oauth/authorize"
        asked = {"response_type": "code", "client_id": CLIENT["ID"], "redirect_uri": CLIENT["ADDRESS"],
                 "code_challenge": CHALLENGE, "code_challenge_method": "S256"}
        self.ticket = self.ticket_of(self.browser.get(self.address, params=asked))

    @staticmethod
    def ticket_of(page):
        return re.search(r'name="ticket" value="([^"]+)"', answered(page).text)[1]

    def submit(self, **fields):
        return self.browser.post(self.address, data={"ticket": self.ticket, **fields}, allow_redirects=False)

    def log_in(self):
        """Goes on to the page that asks for consent."""
        self.ticket = self.ticket_of(self.submit(action="login", name=person()["code"], password=PASSWORD))
        return self

    def cookies(self):
        return "; ".join(f"{cookie.name}={cookie.value}" for cookie in self.browser.cookies)


def new_code():
    """A code that nobody has redeemed."""
    address = Page().log_in().submit(action="allow").headers["Location"]
    return urllib.parse.parse_qs(urllib.parse.urlsplit(address).query)["code"][0]


def code_fields():
    """What a code is redeemed with."""
    return {"code": new_code(), "redirect_uri": CLIENT["ADDRESS"], "code_verifier": VERIFIER}


def new_refresh_token():
    """A refresh token that nobody has used."""
    form = {"grant_type": "authorization_code", **code_fields()}
    tokens = session().post(SETTING["URL"] + "/health/oauth/token", data=form, auth=(CLIENT["ID"], CLIENT["SECRET"]))
    return answered(tokens).json()["refresh_token"]
