//! A browser that has signed in: it sends its cookie with everything, and the pages' second token where it is asked to.

use axum::body::Body;
use axum::http::Request;
use serde_json::{Value, json};
use store::Role;

use crate::common::{Answer, PASSWORD, Story, text};

/// A session of the portal.
#[derive(Clone)]
pub struct Browser {
    /// As it is sent back.
    pub cookie: String,
    /// The pages' token.
    pub csrf: String,
}

/// Name and value of a cookie that is set, and its attributes, which have no order (RFC 6265, 4.1.1).
pub fn pair_and_attributes(set_cookie: &str) -> (&str, Vec<&str>) {
    let mut parts = set_cookie.split("; ");
    let pair = parts.next().unwrap_or_default();
    let mut attributes: Vec<&str> = parts.collect();
    attributes.sort_unstable();
    (pair, attributes)
}

impl Browser {
    /// Creates an account with a key and signs it in; answers the browser and the key.
    pub async fn of(story: &Story, email: &str, role: Role) -> (Browser, String) {
        let key = story.key_of(email, role).await;
        (Browser::sign_in(story, json!({"email": email, "password": PASSWORD})).await, key)
    }

    /// Signs in with a body that has to be good.
    pub async fn sign_in(story: &Story, body: Value) -> Browser {
        let answer = story.post("/portal/session", body).await;
        let cookie = answer.header("set-cookie").split(';').next().unwrap_or_default().to_owned();
        Browser { cookie, csrf: text(&answer.ok()["csrf_token"]) }
    }

    /// Sends a GET, as pages and streams of events do it.
    pub async fn get(&self, story: &Story, path: &str) -> Answer {
        story.send(Request::get(path).header("cookie", &self.cookie).body(Body::empty()).expect("a request")).await
    }

    /// Returns any method, with the pages' token, and with JSON unless the body is `Null`.
    pub async fn ask(&self, story: &Story, method: &str, path: &str, body: Value) -> Answer {
        self.ask_with(story, method, path, &self.csrf, body).await
    }

    /// Does the same with another token; without one when it is empty.
    pub async fn ask_with(&self, story: &Story, method: &str, path: &str, csrf: &str, body: Value) -> Answer {
        let mut request = Request::builder().method(method).uri(path).header("cookie", &self.cookie);
        if !csrf.is_empty() {
            request = request.header("x-csrf-token", csrf);
        }
        let body = match body {
            Value::Null => Body::empty(),
            body => Body::from(body.to_string()),
        };
        story.send(request.header("content-type", "application/json").body(body).expect("a request")).await
    }
}
