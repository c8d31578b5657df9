//! Answers: what each status means, and errors, which are the same of most operations.

use serde_json::{Map, Value, json};

use super::headers;
use super::reference::reference;
use super::shared::Shared;
use crate::outer::answers::{ANSWERS, LayerAnswer, PROBES, Reach};

/// Surroundings of an operation, which can answer for it.
pub(super) struct Surroundings<'path> {
    path: &'path str,
    answers: Vec<&'static LayerAnswer>,
    /// Whether unknown fields of the body are ignored.
    pub ignores_fields: bool,
}

impl<'path> Surroundings<'path> {
    /// Returns the surroundings of the operations of a path that reach so far.
    pub(super) fn of(path: &'path str, reached: &[Reach]) -> Self {
        let answers = ANSWERS.iter().filter(|answer| reached.contains(&answer.reach)).collect();
        Surroundings { path, answers, ignores_fields: false }
    }

    /// Codes and sentences of a status, the most usual first.
    fn errors(&self, status: &str) -> Vec<(&'static str, &'static str)> {
        if let Some(error) = error_of_route(self.path, status) {
            return vec![error];
        }
        let is_it = |answer: &&LayerAnswer| answer.status.to_string() == status;
        let mut found: Vec<&LayerAnswer> = self.answers.iter().copied().filter(is_it).collect();
        if found.is_empty() {
            // A route can answer by itself what is answered for others, such as 401 to a wrong password.
            found.extend(ANSWERS.iter().filter(is_it));
        }
        found.into_iter().map(|answer| (answer.code, answer.message)).collect()
    }

    /// Returns the name of a usual error: that of its codes, such as `PatientNotFound`. Those that all operations can
    /// answer are part of it only where there is no other.
    fn name(&self, status: &str) -> String {
        let errors = self.errors(status);
        let is_of_all = |code: &str| {
            let all = [Reach::Every, Reach::AllButProbes];
            ANSWERS.iter().any(|answer| answer.code == code && all.contains(&answer.reach))
        };
        let codes = errors.iter().map(|(code, _)| *code);
        let own: Vec<&str> = codes.clone().filter(|code| !is_of_all(code)).collect();
        let codes = if own.is_empty() { codes.take(1).collect() } else { own };
        codes.into_iter().map(capitalised).collect::<Vec<_>>().join("Or")
    }
}

/// Completes the answers of an operation, with those of its surroundings. An error that says nothing of its own becomes a
/// reference to the shared one.
pub(super) fn complete(around: &Surroundings<'_>, responses: &mut Map<String, Value>, shared: &mut Shared<'_>) {
    for answer in &around.answers {
        responses.entry(answer.status.to_string()).or_insert_with(|| json!({}));
    }
    for (status, response) in responses.iter_mut() {
        complete_response(around, status, response, shared);
        // Those of a probe have fewer headers, unless they come before it is known to be one.
        if is_error(status) && (!PROBES.contains(&around.path) || status == "501") {
            let mut usual = json!({});
            complete_response(around, status, &mut usual, shared);
            if *response == usual {
                *response = shared.response(around.name(status), usual);
            }
        }
    }
}

fn is_error(status: &str) -> bool {
    status.starts_with(['4', '5'])
}

fn complete_response(around: &Surroundings<'_>, status: &str, response: &mut Value, shared: &mut Shared<'_>) {
    if response["description"].as_str().is_none_or(str::is_empty) {
        response["description"] = json!(meaning(status));
    }
    if is_error(status) {
        // Where an error is a page, what comes before the page is still an error like all others.
        let mut content = response["content"].as_object().cloned().unwrap_or_default();
        content.entry("application/json").or_insert_with(|| json!({"schema": reference("ApiError")}));
        response["content"] = Value::Object(content);
    }
    for (kind, media) in response.get_mut("content").and_then(Value::as_object_mut).into_iter().flatten() {
        if is_error(status) && media["schema"] == reference("ApiError") && media["example"].is_null() {
            complete_error(around, status, media, shared);
        }
        shared.complete_media(kind, media);
    }
    let mut headers = Map::new();
    let ignored = (around.ignores_fields && !is_error(status)).then_some((headers::IGNORED, headers::IGNORED));
    for (name, component) in headers::of(around.path, status, response).into_iter().chain(ignored) {
        headers.insert(name.to_owned(), json!({"$ref": format!("#/components/headers/{component}")}));
    }
    headers.extend(response["headers"].as_object().cloned().unwrap_or_default());
    response["headers"] = Value::Object(headers);
}

/// Gives an error the example of its code, or one of each.
fn complete_error(around: &Surroundings<'_>, status: &str, media: &mut Value, shared: &mut Shared<'_>) {
    let errors = around.errors(status);
    let example = |(code, message): (&str, &str)| {
        let mut example = json!({"message": message, "code": code});
        if status == "422" {
            example["errors"] = json!({"date": ["is required"]});
        }
        example
    };
    if let [only] = errors[..] {
        media["example"] = example(only);
        return;
    }
    let shared = errors.iter().map(|error| (error.0.to_owned(), shared.example(error.0, &example(*error))));
    media["examples"] = Value::Object(shared.collect());
}

/// Returns what a status means here when its route says nothing more particular.
fn meaning(status: &str) -> &'static str {
    match status {
        "200" => "as asked for",
        "204" => "done, without content",
        "206" => "the part that was asked for",
        "302" | "303" => "go on there",
        "400" => "the syntax is wrong: of the body, of a parameter, of the path or of the host",
        "401" => "there is no credential, or it is not valid",
        "403" => "access denied: the credential is valid and has no right to this",
        "404" => "there is no such thing",
        "406" => "the answer cannot be given in a form that is accepted",
        "408" => "the body came too slowly",
        "409" => "it does not fit what is there",
        "410" => "this endpoint has been removed",
        "413" => "the body is too large",
        "415" => "the body is of another kind or compression than is taken here",
        "416" => "the range lies outside of the file",
        "422" => "well-formed but not valid; `errors` names each field",
        "429" => "too many requests; with the seconds to wait",
        "500" => "something went wrong on our side; the log has the reason under the request's id",
        "501" => "a transfer coding that is not read; the connection is closed",
        "503" => {
            "a store is away, there is too much to do, or stored data are damaged; nothing was stored, with the seconds \
             to wait"
        }
        _ => "see the description",
    }
}

/// Code and sentence of what only the route itself can answer so.
fn error_of_route(path: &str, status: &str) -> Option<(&'static str, &'static str)> {
    let error = match status {
        "403" => ("forbidden", "the caller has no access to this"),
        // Those of a token, too, where an erasure came between the look at the token and the operation.
        "404" if path.contains("{uuid}") || path == "/health/v1/sync" => ("patient_not_found", "patient not found"),
        "404" if ["/users/me", "/users/auth/password"].contains(&path) => ("user_not_found", "user not found"),
        "404" if path.contains("{group_code}") || path.contains("{code}") => ("group_not_found", "group not found"),
        "406" => ("not_acceptable", "the answer cannot be given in the form asked for"),
        "409" => ("conflict", "it does not fit what is there"),
        "410" => ("gone", "this endpoint has been removed"),
        "416" => ("range_not_satisfiable", "the file has no such bytes"),
        _ => return None,
    };
    Some(error)
}

/// Returns a code as a part of a name: `PatientNotFound` of `patient_not_found`.
fn capitalised(code: &str) -> String {
    let mut name = String::new();
    for word in code.split('_') {
        let (first, rest) = word.split_at(1);
        name.push_str(&first.to_uppercase());
        name.push_str(rest);
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Answers as completed where only so much is around them, and the components that they refer to.
    fn completed(path: &str, given: &Value, reached: &[Reach]) -> (Value, Value) {
        let schemas = json!({});
        let mut shared = Shared::new(&schemas);
        let mut responses = given.as_object().cloned().expect("answers");
        complete(&Surroundings::of(path, reached), &mut responses, &mut shared);
        let mut components = json!({});
        shared.add_to(&mut components);
        (Value::Object(responses), components)
    }

    #[test]
    fn an_error_that_says_nothing_of_its_own_is_the_shared_one() {
        let given = json!({"404": {}, "429": {"description": "one export in five minutes"}, "503": {}});
        let (responses, components) = completed("/patients/{uuid}", &given, &[]);
        assert_eq!(responses["404"], json!({"$ref": "#/components/responses/PatientNotFound"}));
        assert_eq!(responses["429"]["description"], "one export in five minutes");
        assert_eq!(responses["429"]["headers"]["Retry-After"]["$ref"], "#/components/headers/Retry-After");
        assert_eq!(components["responses"].as_object().map(Map::len), Some(2));
        let unavailable = &components["responses"]["Unavailable"];
        for code in ["unavailable", "overloaded", "data_damaged"] {
            let example = &unavailable["content"]["application/json"]["examples"][code];
            assert_eq!(example["$ref"], format!("#/components/examples/{code}"));
            assert_eq!(components["examples"][code]["value"]["code"], code);
        }
        for header in ["X-Request-Id", "X-RateLimit-Limit", "X-RateLimit-Remaining", "Retry-After"] {
            assert!(unavailable["headers"][header].is_object() && headers::components()[header].is_object());
        }
    }

    #[test]
    fn an_error_of_a_probe_is_its_own() {
        let (responses, components) = completed("/readyz", &json!({"503": {}}), &[]);
        assert!(responses["503"]["headers"]["X-RateLimit-Limit"].is_null());
        assert_eq!(components["responses"], json!({}));
    }

    #[test]
    fn answers_of_the_surroundings_are_added_and_named_by_what_is_particular() {
        let (bare, _) = completed("/livez", &json!({"200": {}}), &[Reach::Every]);
        assert_eq!(bare.as_object().expect("answers").keys().collect::<Vec<_>>(), ["200", "400", "500", "501"]);
        assert_eq!(bare["501"], json!({"$ref": "#/components/responses/UnsupportedTransferEncoding"}));
        let reached = [Reach::Every, Reach::AllButProbes, Reach::QueryParameters, Reach::Bodies];
        let (all, components) = completed("/x", &json!({}), &reached);
        assert_eq!(all["400"], json!({"$ref": "#/components/responses/MalformedParameterOrCutOff"}));
        assert_eq!(all["503"], json!({"$ref": "#/components/responses/Unavailable"}));
        let statuses: Vec<&String> = all.as_object().expect("answers").keys().collect();
        assert_eq!(statuses, ["400", "408", "413", "429", "500", "501", "503"]);
        let malformed = &components["responses"]["MalformedParameterOrCutOff"];
        let codes = malformed["content"]["application/json"]["examples"].as_object().expect("examples");
        assert_eq!(codes.keys().collect::<Vec<_>>(), ["bad_host", "cut_off", "malformed_parameter"]);
        // The host is looked at before the request has an id.
        assert_eq!(malformed["headers"]["X-Request-Id"]["$ref"], "#/components/headers/X-Request-Id-If-Routed");
        assert_eq!(headers::components()["X-Request-Id-If-Routed"]["required"], false);
    }

    #[test]
    fn every_refusal_has_a_code_and_a_meaning() {
        let of_routes = ["403", "404", "406", "409", "410", "416"].map(str::to_owned);
        for status in ANSWERS.iter().map(|answer| answer.status.to_string()).chain(of_routes) {
            assert!(!Surroundings::of("/x", &[]).errors(&status).is_empty(), "{status}");
            assert_ne!(meaning(&status), "see the description", "{status}");
        }
    }
}
