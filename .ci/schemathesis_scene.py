"""What the requests of .ci/schemathesis act on: patients, uploads and an OAuth client of the running service."""

import functools
import os
import re
import time
import urllib.parse

import requests

SETTING = {name: os.environ["PULSEWARD_SCHEMATHESIS_" + name] for name in ("URL", "KEY", "GROUP", "UUID")}
MAIN_TOKEN = {cloud: os.environ[f"PULSEWARD_SCHEMATHESIS_{cloud.upper()}_TOKEN"] for cloud in ("users", "health")}
CLIENT = {name: os.environ["PULSEWARD_SCHEMATHESIS_CLIENT_" + name] for name in ("ID", "SECRET", "ADDRESS")}
PASSWORD = "correct horse battery"
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
