//! The table of access, and how it is read.

use serde_json::Value;

/// Who calls, in the order of the columns.
///
/// `none` brings no credential, `rubbish` one that nobody issued, `expired` and `revoked` one that has ended, and
/// `other` one of another cloud. `own` is the patient that the path names, `another` a patient of the same group, each
/// with a token of the cloud that is called, or on the integration API one of the Health Cloud. `member` is a
/// researcher of the group, `hcp` a practitioner of it, `stranger` a researcher and `admin` an administrator who are not
/// in it: on the integration API with an API key; on the Users Cloud with a token; on the Health Cloud with a health
/// token for the patient, or, where they get none, with the key. `scoped` is a key of the member for another group.
///
/// On the routes of the portal, those five have a session of its pages, `expired` and `revoked` one that was locked and
/// one that was signed out; `other` shows a token of the Users Cloud, patients show their tokens, and `scoped` is a session of the
/// member that only reads.
pub const CALLERS: [&str; 12] = [
    "none", "rubbish", "expired", "revoked", "other", "own", "another", "member", "hcp", "stranger", "admin", "scoped",
];

pub const TABLE: &str = r#"
                                                                     none rub exp rev oth | own ano | mem hcp str adm sco

# Studies.
GET    /integration/v1/groups                                      | 401 401 401 401 401 | 401 401 | 200 200 200 200 200
POST   /integration/v1/groups {"name": "New", "description": ""}   | 401 401 401 401 401 | 401 401 | 200 403 200 200 403
PATCH  /integration/v1/groups/{group_code} {"name": "Other"}       | 401 401 401 401 401 | 401 401 | 200 403 403 403 403
DELETE /integration/v1/groups/{group_code}                         | 401 401 401 401 401 | 401 401 | 409 403 403 403 403
GET    /integration/v1/groups/{group_code}/settings                | 401 401 401 401 401 | 401 401 | 200 200 403 403 403
PUT    /integration/v1/groups/{group_code}/settings {"activity_goal_steps": 8000} | 401 401 401 401 401 | 401 401 | 200 403 403 403 403
GET    /integration/v1/groups/{group_code}/hcps                    | 401 401 401 401 401 | 401 401 | 200 403 403 403 403
POST   /integration/v1/groups/{group_code}/hcps {"email": "hal@example.org"} | 401 401 401 401 401 | 401 401 | 200 403 403 403 403
DELETE /integration/v1/groups/{group_code}/hcps/{uuid}             | 401 401 401 401 401 | 401 401 | 204 403 403 403 403
PUT    /integration/v1/groups/{group_code}/patients/{uuid}         | 401 401 401 401 401 | 401 401 | 204 403 403 403 403
DELETE /integration/v1/groups/{group_code}/patients/{uuid}         | 401 401 401 401 401 | 401 401 | 204 403 403 403 403

# Patients.
GET    /integration/v1/groups/{group_code}/patients                | 401 401 401 401 401 | 401 401 | 200 200 403 403 403
POST   /integration/v1/groups/{group_code}/patients                | 401 401 401 401 401 | 401 401 | 200 403 403 403 403
GET    /integration/v1/check-voucher-code/{voucher_code}           | 401 401 401 401 401 | 401 401 | 200 200 200 200 200
PATCH  /integration/v1/patients/{uuid} {"external_patient_id": "7"} | 401 401 401 401 401 | 401 401 | 200 403 403 403 403
DELETE /integration/v1/patients/{uuid}                             | 401 401 401 401 401 | 401 401 | 200 403 403 200 403
GET    /integration/v1/erasures/{uuid}                             | 401 401 401 401 401 | 401 401 | 404 403 404 404 404
PUT    /integration/v1/patients/{uuid}/profile {"weight": 61}      | 401 401 401 401 401 | 401 401 | 200 403 403 403 403
POST   /integration/v1/patients/{uuid}/reset-password {"password": "another long one"} | 401 401 401 401 401 | 401 401 | 204 403 403 403 403
GET    /integration/v1/patients/{uuid}/health-token                | 401 401 401 401 401 | 401 401 | 200 200 403 403 403
GET    /integration/v1/patients/{uuid}/latest-news-score           | 401 401 401 401 401 | 401 401 | 200 200 403 403 403
GET    /integration/v1/patients/{uuid}/news-settings               | 401 401 401 401 401 | 401 401 | 200 200 403 403 403
PUT    /integration/v1/patients/{uuid}/news-settings {"oxygen": false} | 401 401 401 401 401 | 401 401 | 200 200 403 403 403
GET    /integration/v1/patients/{uuid}/alarms                      | 401 401 401 401 401 | 401 401 | 200 200 403 403 403
PUT    /integration/v1/patients/{uuid}/alarms {"alarms": []}       | 401 401 401 401 401 | 401 401 | 200 200 403 403 403

# Summaries, compliance, exports.
GET    /integration/v1/groups/{group_code}/summaries?date=2025-11-20 | 401 401 401 401 401 | 401 401 | 200 200 403 403 403
GET    /integration/v1/patients/{uuid}/summary/{date}              | 401 401 401 401 401 | 401 401 | 200 200 403 403 403
GET    /integration/v1/patients/{uuid}/compliance/{date}           | 401 401 401 401 401 | 401 401 | 200 200 403 403 403
GET    /integration/v1/patients/{uuid}/raw-data-compliance/{date}  | 401 401 401 401 401 | 401 401 | 200 200 403 403 403
GET    /integration/v1/patients/{uuid}/raw-data-compliance?utc_date_from=2025-11-20T00:00:00.000Z&utc_date_to=2025-11-20T01:00:00.000Z | 401 401 401 401 401 | 401 401 | 200 200 403 403 403
POST   /integration/v1/create-export/{uuid}/{data_type} {"client_date_from": "2025-11-20T00:00:00.000", "client_date_to": "2025-11-20T01:00:00.000"} | 401 401 401 401 401 | 401 401 | 200 403 403 403 403
POST   /integration/v1/create-export/{uuid} {"client_date_from": "2025-11-20T00:00:00.000", "client_date_to": "2025-11-20T01:00:00.000", "types": ["activity"]} | 401 401 401 401 401 | 401 401 | 200 403 403 403 403
GET    /integration/v1/exports                                     | 401 401 401 401 401 | 401 401 | 200 403 200 200 200
GET    /integration/v1/export/{export_id}                          | 401 401 401 401 401 | 401 401 | 200 403 403 403 403
GET    /integration/v1/groups/{group_code}/events                  | 401 401 401 401 401 | 401 401 | 200 200 403 403 403
GET    /integration/v1/groups/{group_code}/events/stream           | 401 401 401 401 401 | 401 401 | 200 200 403 403 403
GET    /integration/v1/groups/{group_code}/lake                    | 401 401 401 401 401 | 401 401 | 200 403 403 403 403
GET    /integration/downloads/{name}                               | 403
POST   /integration/v1/create-afib-export/{uuid} {"timestamp_from": 0, "timestamp_to": 1} | 401 401 401 401 401 | 401 401 | 200 403 403 403 403
GET    /integration/v1/patients/{uuid}/afib/{id}/strip.svg         | 401 401 401 401 401 | 401 401 | 404 404 403 403 403

# Audit log.
GET    /integration/v1/patients/audit/logs?from=0&to=1             | 401 401 401 401 401 | 401 401 | 200 200 200 200 200

# Security log: administrators alone.
GET    /integration/v1/security/events                             | 401 401 401 401 401 | 401 401 | 403 403 403 200 403

# Bracelets. The member's own idle bracelet is theirs also with a key for another of their groups.
GET    /integration/v1/user-devices                                | 401 401 401 401 401 | 200 200 | 200 200 401 401 401
GET    /integration/v1/bracelets                                   | 401 401 401 401 401 | 401 401 | 200 200 200 200 200
POST   /integration/v1/bracelets {"serial_number": "of CALLER", "device_type": "wrist"} | 401 401 401 401 401 | 401 401 | 200 200 200 200 403
PATCH  /integration/v1/bracelets/{serial} {"firmware_version": "2"} | 401 401 401 401 401 | 401 401 | 200 200 403 403 403
DELETE /integration/v1/bracelets/{serial}                          | 401 401 401 401 401 | 401 401 | 204 204 403 403 403
PUT    /integration/v1/patients/{uuid}/bracelets/{serial}          | 401 401 401 401 401 | 401 401 | 204 204 403 403 403
DELETE /integration/v1/patients/{uuid}/bracelets/{serial}          | 401 401 401 401 401 | 401 401 | 204 204 403 403 403

# Users Cloud. An expired token can be refreshed and logged out; nobody else's is named anywhere, so everyone acts on their own account.
POST   /users/login {"code": "OWN-CODE", "password": "correct horse battery"} | 200
POST   /users/activate {"code": "OWN-CODE", "password": "correct horse battery"} | 409
GET    /users/me                                                   | 401 401 401 401 401 | 200 200 | 200 200 200 200 401
PATCH  /users/me {"first_name": "N"}                               | 401 401 401 401 401 | 200 200 | 200 200 200 200 401
DELETE /users/me                                                   | 401 401 401 401 401 | 200 200 | 409 200 200 200 401
POST   /users/auth/logout                                          | 401 401 204 401 401 | 204 204 | 204 204 204 204 401
GET    /users/auth/refresh                                         | 401 401 200 401 401 | 200 200 | 200 200 200 200 401
POST   /users/auth/refresh                                         | 401 401 200 401 401 | 200 200 | 200 200 200 200 401
POST   /users/auth/password {"password": "correct horse battery", "new_password": "incorrect horse battery"} | 401 401 401 401 401 | 200 200 | 200 200 200 200 401
GET    /users/auth/consents                                        | 401 401 401 401 401 | 200 200 | 200 200 200 200 401
DELETE /users/auth/consents/{id}                                   | 401 401 401 401 401 | 404 404 | 404 404 404 404 401
GET    /users/.well-known/jwks.json                                | 200

# Health Cloud. Who reads on behalf of a patient neither sends nor refreshes.
POST   /health/login {"user_api_token": "rubbish"}                 | 401
POST   /health/auth/logout                                         | 401 401 204 401 401 | 204 204 | 204 204 401 401 401
GET    /health/auth/refresh                                        | 401 401 200 401 401 | 200 200 | 403 403 401 401 401
POST   /health/auth/refresh                                        | 401 401 200 401 401 | 200 200 | 403 403 401 401 401
POST   /health/v1/sync {"data": {}}                                | 401 401 401 401 401 | 200 200 | 403 403 401 401 401
POST   /health/v1/sync/{type}                                      | 401 401 401 401 401 | 400 400 | 403 403 401 401 401
GET    /health/v2/raw-metrics/{raw_metric_type}?from_date=2025-11-20T00:00:00Z&to_date=2025-11-20T01:00:00Z | 401 401 401 401 401 | 200 200 | 200 200 401 401 401
GET    /health/user-summaries?date_from=2025-11-19&date_to=2025-11-20 | 401 401 401 401 401 | 200 200 | 200 200 401 401 401
GET    /health/.well-known/jwks.json                               | 200

# OAuth: a client proves itself, or nobody does; none of these credentials is one of a client.
GET    /health/.well-known/oauth-authorization-server              | 200
GET    /health/oauth/authorize                                     | 400
POST   /health/oauth/authorize                                     | 403
POST   /health/oauth/token                                         | 401
POST   /health/oauth/introspect                                    | 401
POST   /health/oauth/revoke                                        | 401

# Portal. Everyone acts on their own account; a session that only reads may end and choose a password.
POST   /portal/session {"email": "ada@example.org", "password": "correct horse battery"} | 200
GET    /portal/session                                             | 401 401 401 401 401 | 401 401 | 200 200 200 200 200
DELETE /portal/session                                             | 401 401 401 401 401 | 401 401 | 204 204 204 204 204
GET    /portal/api/account                                         | 401 401 401 401 401 | 401 401 | 200 200 200 200 200
PUT    /portal/api/account/password {"current": "correct horse battery", "new": "incorrect horse battery"} | 401 401 401 401 401 | 401 401 | 204 204 204 204 204
GET    /portal/api/keys                                            | 401 401 401 401 401 | 401 401 | 200 200 200 200 200
POST   /portal/api/keys {"name": "New"}                            | 401 401 401 401 401 | 401 401 | 201 201 201 201 403
DELETE /portal/api/keys/{id}                                       | 401 401 401 401 401 | 401 401 | 404 404 404 404 403
GET    /portal/api/clients                                         | 401 401 401 401 401 | 401 401 | 403 403 403 200 403
POST   /portal/api/clients {"name": "N", "redirect_uris": ["https://a.example/b"], "privacy_policy_url": "https://a.example/p"} | 401 401 401 401 401 | 401 401 | 403 403 403 201 403
DELETE /portal/api/clients/{client_id}                             | 401 401 401 401 401 | 401 401 | 403 403 403 404 403
GET    /portal/api/sessions                                        | 401 401 401 401 401 | 401 401 | 200 200 200 200 200
DELETE /portal/api/sessions/{id}                                   | 401 401 401 401 401 | 401 401 | 404 404 404 404 403
POST   /portal/api/totp                                            | 401 401 401 401 401 | 401 401 | 200 200 200 200 403
PUT    /portal/api/totp {"code": "000000"}                         | 401 401 401 401 401 | 401 401 | 422 422 422 422 403
DELETE /portal/api/totp {"password": "correct horse battery"}      | 401 401 401 401 401 | 401 401 | 204 404 404 404 403
GET    /portal/api/totp/recovery-codes                             | 401 401 401 401 401 | 401 401 | 404 404 404 404 404
POST   /portal/api/totp/recovery-codes {"password": "correct horse battery"} | 401 401 401 401 401 | 401 401 | 404 404 404 404 403
GET    /portal/api/groups/{code}/board                             | 401 401 401 401 401 | 401 401 | 200 200 403 403 200
GET    /portal/api/groups/{code}/board/events                      | 401 401 401 401 401 | 401 401 | 200 200 403 403 200
GET    /portal/api/groups/{code}/compliance?from=2025-11-19&to=2025-11-20 | 401 401 401 401 401 | 401 401 | 200 200 403 403 200
GET    /portal/api/patients/{uuid}/series?from=0&to=1&series[]=activity.bpm | 401 401 401 401 401 | 401 401 | 200 200 403 403 200
GET    /portal/api/patients/{uuid}/news?from=0&to=1               | 401 401 401 401 401 | 401 401 | 200 200 403 403 200
GET    /portal/api/patients/{uuid}/compliance?date=2025-11-20      | 401 401 401 401 401 | 401 401 | 200 200 403 403 200

# Operations.
GET    /livez                                                      | 200
GET    /readyz                                                     | 200
"#;

/// A row of the table.
pub struct Row {
    pub method: String,
    pub path: String,
    pub body: Value,
    pub statuses: [u16; 12],
}

impl Row {
    fn read(line: &str) -> Self {
        let (head, statuses) = line.split_once('|').unwrap_or_else(|| panic!("no statuses: {line}"));
        let mut words = head.trim().splitn(3, ' ').filter(|word| !word.is_empty());
        let method = words.next().expect("a method").to_owned();
        let rest = words.next().map(|path| format!("{path} {}", words.next().unwrap_or_default()));
        let rest = rest.expect("a path");
        let (path, body) = rest.trim().split_once(' ').unwrap_or((rest.trim(), ""));
        let body = if body.trim().is_empty() { Value::Null } else { serde_json::from_str(body.trim()).expect("JSON") };
        let numbers = statuses.split(|sign: char| !sign.is_ascii_digit()).filter(|number| !number.is_empty());
        let statuses: Vec<u16> = numbers.map(|number| number.parse().expect("a status")).collect();
        let statuses = match statuses[..] {
            [same] => [same; 12],
            _ => statuses.try_into().unwrap_or_else(|found| panic!("not twelve: {found:?} in {line}")),
        };
        Row { method, path: path.to_owned(), body, statuses }
    }

    pub fn all() -> Vec<Self> {
        let lines = TABLE
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty() && !line.starts_with("none") && !line.starts_with('#'));
        lines.map(Row::read).collect()
    }

    /// Returns the route as the document has it.
    pub fn route(&self) -> (String, String) {
        let path = self.path.split('?').next().unwrap_or_default();
        (self.method.to_lowercase(), path.to_owned())
    }

    /// Returns when a new service is needed for what follows, because doing it takes something away.
    pub fn spoils(&self) -> Spoils {
        if self.path.contains("/auth/") {
            // Everyone ends their own token.
            return Spoils::LaterRows;
        }
        let takes = ["reset-password", "create-export", "account/password"];
        if self.method == "DELETE" || takes.iter().any(|part| self.path.contains(part)) {
            return Spoils::LaterCells;
        }
        Spoils::Nothing
    }
}

/// What cannot be asked any more after a row or a cell of it.
#[derive(PartialEq)]
pub enum Spoils {
    Nothing,
    LaterRows,
    LaterCells,
}
