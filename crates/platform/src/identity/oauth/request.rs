//! What a client asks for when it sends a person to the authorization address, and whether it may (RFC 6749, 4.1.1).
//!
//! Until client and address are known to belong together nobody can be answered but the person. After that the client
//! is answered, at that address and no other.

use boxed_futures::boxed_futures;
use serde::{Deserialize, Serialize};
use store::{ClientId, OauthClient};

use super::common::read_scope;
use super::redirect::{is_registered_as, with_parameters};
use crate::core::error::Result;
use crate::identity::Identity;
use crate::identity::cloud::Cloud;

const LONGEST_STATE: usize = 2000;
/// Base64url of the 32 bytes of SHA-256.
const CHALLENGE_LENGTH: usize = 43;
/// Parameters that a request may have only once each.
const NAMES: [&str; 10] = [
    "response_type",
    "client_id",
    "redirect_uri",
    "scope",
    "state",
    "code_challenge",
    "code_challenge_method",
    "response_mode",
    "request",
    "request_uri",
];

/// What a client asks a patient for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuthorizationRequest {
    /// The client.
    pub client: ClientId,
    /// Its name, as an operator has entered it.
    pub client_name: String,
    /// Where it says what it does with the data.
    pub privacy_policy_url: String,
    /// Where it is answered.
    pub redirect_uri: String,
    /// What it wants to do, words with blanks between.
    pub scope: String,
    /// What it wants to get back.
    pub state: Option<String>,
    /// SHA-256 of its verifier, as base64url.
    pub challenge: Option<String>,
}

/// What to do with someone who comes to the authorization address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asked {
    /// Let the person log in and decide.
    Request(Box<AuthorizationRequest>),
    /// Send the person to this address, which reports to the client what is wrong.
    Refused(String),
    /// Show the person what is wrong: there is nobody who could safely be answered.
    Unanswerable(&'static str),
}

#[boxed_futures]
impl Identity {
    /// Reads the parameters of a request to the authorization address.
    pub async fn authorization_request(&self, parameters: &[(String, String)]) -> Result<Asked> {
        let Some(client_id) = only(parameters, "client_id") else {
            return Ok(Asked::Unanswerable("The request names no application, or several."));
        };
        let found = self
            .core
            .users()
            .oauth_client(&ClientId::new(client_id))
            .await?
            .filter(|(client, _)| client.removed_ms.is_none());
        let Some((client, redirect_uris)) = found else {
            return Ok(Asked::Unanswerable("The application is not known here."));
        };
        // From here on the client can be answered at this address; before, an answer could go to an attacker's.
        let redirect_uri = only(parameters, "redirect_uri")
            .filter(|uri| redirect_uris.iter().any(|registered| is_registered_as(uri, registered)));
        let Some(redirect_uri) = redirect_uri else {
            return Ok(Asked::Unanswerable("The application asks to be answered at an address that is not its own."));
        };
        let state = only(parameters, "state").filter(|state| state.len() <= LONGEST_STATE);
        match read(parameters, client, redirect_uri, state) {
            Ok(request) => Ok(Asked::Request(Box::new(request))),
            Err((error, description)) => {
                let refusal = [("error", error), ("error_description", description)];
                Ok(Asked::Refused(self.answer(redirect_uri, &refusal, state)))
            }
        }
    }

    /// Returns the address at which a client is answered, with the answer. It names this server, so that a client that
    /// knows several cannot take the answer of one for that of another (RFC 9207).
    pub(super) fn answer(&self, redirect_uri: &str, answer: &[(&str, &str)], state: Option<&str>) -> String {
        let mut parameters = answer.to_vec();
        if let Some(state) = state {
            parameters.push(("state", state));
        }
        parameters.push(("iss", self.issuer(Cloud::Health)));
        with_parameters(redirect_uri, &parameters)
    }
}

/// Returns the value of a parameter that is there once and not empty, and has no NUL character, which not every
/// database takes.
fn only<'a>(parameters: &'a [(String, String)], name: &str) -> Option<&'a str> {
    let mut values = parameters.iter().filter(|(key, _)| key == name).map(|(_, value)| value.as_str());
    match (values.next(), values.next()) {
        (Some(value), None) if !value.is_empty() && !value.contains('\0') => Some(value),
        _ => None,
    }
}

fn read(
    parameters: &[(String, String)],
    client: OauthClient,
    redirect_uri: &str,
    state: Option<&str>,
) -> std::result::Result<AuthorizationRequest, (&'static str, &'static str)> {
    for name in NAMES {
        if parameters.iter().filter(|(key, _)| key == name).count() > 1 {
            return Err(("invalid_request", "a parameter is there more than once"));
        }
    }
    if parameters.iter().any(|(name, value)| NAMES.contains(&name.as_str()) && value.contains('\0')) {
        return Err(("invalid_request", "a parameter has a NUL character"));
    }
    let value = |name| only(parameters, name);
    if parameters.iter().any(|(key, value)| key == "state" && value.len() > LONGEST_STATE) {
        return Err(("invalid_request", "state is too long"));
    }
    match value("response_type") {
        Some("code") => {}
        None => return Err(("invalid_request", "response_type is required")),
        Some(_) => return Err(("unsupported_response_type", "response_type must be code")),
    }
    if value("response_mode").is_some_and(|mode| mode != "query") {
        return Err(("invalid_request", "response_mode must be query"));
    }
    if value("request").is_some() {
        return Err(("request_not_supported", "request objects are not supported"));
    }
    if value("request_uri").is_some() {
        return Err(("request_uri_not_supported", "request objects are not supported"));
    }
    let challenge = value("code_challenge");
    match (challenge, value("code_challenge_method")) {
        // RFC 7636: without a secret, only the verifier shows that the code came to the one who asked.
        (None, None) if client.secret_hash.is_none() => {
            return Err(("invalid_request", "code_challenge is required of this client"));
        }
        (None, Some(_)) => return Err(("invalid_request", "code_challenge is required")),
        (Some(challenge), Some("S256")) if is_challenge(challenge) => {}
        (Some(_), Some("S256")) => return Err(("invalid_request", "code_challenge is not a SHA-256 as base64url")),
        // Without a method it would be "plain".
        (Some(_), _) => return Err(("invalid_request", "code_challenge_method must be S256")),
        (None, None) => {}
    }
    let scope = read_scope(value("scope")).ok_or(("invalid_scope", "scope is not known"))?;
    Ok(AuthorizationRequest {
        client: client.id,
        client_name: client.name,
        privacy_policy_url: client.privacy_policy_url,
        redirect_uri: redirect_uri.to_owned(),
        scope,
        state: state.map(str::to_owned),
        challenge: challenge.map(str::to_owned),
    })
}

fn is_challenge(text: &str) -> bool {
    text.len() == CHALLENGE_LENGTH && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SHA-256 of nothing, as base64url.
    const CHALLENGE: &str = "47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU";
    const ADDRESS: &str = "https://diary.example/back";

    fn client(has_secret: bool) -> OauthClient {
        OauthClient {
            id: ClientId::new("a client"),
            secret_hash: has_secret.then(|| vec![1; 32]),
            name: "Diary".to_owned(),
            privacy_policy_url: "https://diary.example/privacy".to_owned(),
            created_ms: 0,
            removed_ms: None,
        }
    }

    fn pairs(parameters: &[(&str, &str)]) -> Vec<(String, String)> {
        parameters.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    /// Returns a good request with these parameters instead of its own, and without those that are empty.
    fn asked(changes: &[(&str, &str)]) -> Vec<(String, String)> {
        let good = [
            ("response_type", "code"),
            ("code_challenge", CHALLENGE),
            ("code_challenge_method", "S256"),
            ("state", "a state"),
        ];
        let kept = good.iter().filter(|(name, _)| !changes.iter().any(|(changed, _)| changed == name));
        pairs(&kept.chain(changes).filter(|(_, value)| !value.is_empty()).copied().collect::<Vec<_>>())
    }

    fn error(parameters: &[(String, String)]) -> Option<&'static str> {
        read(parameters, client(false), ADDRESS, None).err().map(|(error, _)| error)
    }

    #[test]
    fn what_a_client_asks_for_is_taken_as_it_is() {
        let request = read(&asked(&[]), client(false), ADDRESS, Some("a state")).expect("a good request");
        assert_eq!((request.client, request.client_name), (ClientId::new("a client"), "Diary".to_owned()));
        assert_eq!((&*request.redirect_uri, request.state.as_deref()), (ADDRESS, Some("a state")));
        assert_eq!(request.challenge.as_deref(), Some(CHALLENGE));
        assert_eq!(request.scope, "patient.read", "the least, where nothing is named");
        for (scope, granted) in [
            ("patient.sync patient.read", "patient.read patient.sync"),
            (" patient.read  patient.read ", "patient.read"),
            ("patient.sync", "patient.sync"),
        ] {
            let request = read(&asked(&[("scope", scope)]), client(false), ADDRESS, None).expect("a known scope");
            assert_eq!(request.scope, granted, "`{scope}`");
        }
    }

    #[test]
    fn each_fault_has_the_error_that_the_standard_names() {
        let long = "s".repeat(LONGEST_STATE + 1);
        for (changes, expected) in [
            (vec![("response_type", "")], "invalid_request"),
            (vec![("response_type", "token")], "unsupported_response_type"),
            (vec![("response_type", "code token")], "unsupported_response_type"),
            (vec![("response_mode", "fragment")], "invalid_request"),
            (vec![("request", "eyJ")], "request_not_supported"),
            (vec![("request_uri", "https://diary.example/request")], "request_uri_not_supported"),
            (vec![("scope", "patient.write")], "invalid_scope"),
            (vec![("scope", "patient.read patient.write")], "invalid_scope"),
            (vec![("state", long.as_str())], "invalid_request"),
            (vec![("state", "a\0b")], "invalid_request"),
            (vec![("scope", "patient.read\0")], "invalid_request"),
            (vec![("scope", "patient.read"), ("scope", "patient.read")], "invalid_request"),
            (vec![("client_id", "one"), ("client_id", "one")], "invalid_request"),
            (vec![("code_challenge", ""), ("code_challenge_method", "")], "invalid_request"),
            (vec![("code_challenge", "")], "invalid_request"),
            (vec![("code_challenge_method", "")], "invalid_request"),
            (vec![("code_challenge_method", "plain")], "invalid_request"),
            (vec![("code_challenge_method", "s256")], "invalid_request"),
            (vec![("code_challenge", &CHALLENGE[1..])], "invalid_request"),
            (vec![("code_challenge", "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU")], "invalid_request"),
        ] {
            assert_eq!(error(&asked(&changes)), Some(expected), "{changes:?}");
        }
    }

    #[test]
    fn what_is_not_ours_may_be_there_as_it_likes() {
        for extra in [vec![("nonce", "1"), ("nonce", "2")], vec![("utm", "a\0b")], vec![("response_mode", "query")]] {
            assert_eq!(error(&asked(&extra)), None, "{extra:?}");
        }
        let longest = "s".repeat(LONGEST_STATE);
        assert_eq!(error(&asked(&[("state", longest.as_str())])), None);
    }

    #[test]
    fn only_a_client_with_a_secret_may_do_without_a_challenge() {
        let without = asked(&[("code_challenge", ""), ("code_challenge_method", "")]);
        let of = |has_secret| read(&without, client(has_secret), ADDRESS, None).map(|request| request.challenge);
        assert_eq!(of(true), Ok(None));
        assert_eq!(of(false), Err(("invalid_request", "code_challenge is required of this client")));
        let method_alone = asked(&[("code_challenge", "")]);
        let refused = read(&method_alone, client(true), ADDRESS, None).map(drop);
        assert_eq!(refused, Err(("invalid_request", "code_challenge is required")));
    }

    #[test]
    fn parameters_count_that_are_there_once_and_not_empty() {
        let parameters = pairs(&[("a", "1"), ("b", ""), ("c", "1"), ("c", "2"), ("d", "x\0"), ("e", "1"), ("E", "2")]);
        let found = ["a", "b", "c", "d", "e", "f"].map(|name| only(&parameters, name));
        assert_eq!(found, [Some("1"), None, None, None, Some("1"), None]);
    }
}
