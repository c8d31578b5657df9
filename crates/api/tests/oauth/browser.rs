//! A browser without JavaScript: it keeps a cookie, shows pages, and sends their forms.

use axum::body::Body;
use axum::http::{Method, Request};
use url::form_urlencoded::Serializer;

use crate::common::{Answer, PASSWORD, Story};

/// A browser on the authorization pages.
pub struct Browser<'a> {
    pub story: &'a Story,
    pub cookie: Option<String>,
}

impl<'a> Browser<'a> {
    pub fn new(story: &'a Story) -> Self {
        Browser { story, cookie: None }
    }

    /// Opens an address of the service.
    pub async fn open(&mut self, address: &str) -> Answer {
        let path = address.trim_start_matches("http://127.0.0.1:8080");
        let mut request = Request::builder().method(Method::GET).uri(path);
        if let Some(cookie) = &self.cookie {
            request = request.header("cookie", cookie);
        }
        let answer = self.story.send(request.body(Body::empty()).expect("a request")).await;
        if let Some((cookie, _)) = answer.header("set-cookie").split_once(';') {
            self.cookie = Some(cookie.to_owned());
        }
        answer
    }

    /// Sends a form of a page.
    pub async fn submit(&self, fields: &[(&str, &str)]) -> Answer {
        let mut request = Request::post("/health/oauth/authorize")
            .header("content-type", "application/x-www-form-urlencoded")
            .header("sec-fetch-site", "same-origin");
        if let Some(cookie) = &self.cookie {
            request = request.header("cookie", cookie);
        }
        let body = Serializer::new(String::new()).extend_pairs(fields).finish();
        self.story.send(request.body(Body::from(body)).expect("a request")).await
    }

    /// Logs in on a login page; answers the page that follows.
    pub async fn log_in(&self, page: &Answer, name: &str, password: &str) -> Answer {
        let ticket = ticket(page);
        self.submit(&[("ticket", &ticket), ("action", "login"), ("name", name), ("password", password)]).await
    }

    /// Goes all the way as a patient who allows it; answers the address that the client is answered at.
    pub async fn allow(&mut self, address: &str, name: &str) -> String {
        let login = self.open(address).await;
        let consent = self.log_in(&login, name, PASSWORD).await;
        assert_eq!(consent.status, 200, "{}", html(&consent));
        let answer = self.submit(&[("ticket", &ticket(&consent)), ("action", "allow")]).await;
        location(&answer)
    }
}

/// Returns the text of a page.
pub fn html(page: &Answer) -> &str {
    assert!(page.header("content-type").starts_with("text/html"), "{page:?}");
    page.body.as_str().expect("a page")
}

/// Returns the hidden field of a page.
pub fn ticket(page: &Answer) -> String {
    let (_, rest) = html(page).split_once("name=\"ticket\" value=\"").expect("a form");
    rest.split_once('"').expect("a value").0.to_owned()
}

/// Returns where an answer sends the browser.
pub fn location(answer: &Answer) -> String {
    assert_eq!(answer.status, 303, "{answer:?}");
    answer.header("location").to_owned()
}

/// Returns a parameter of an address.
pub fn parameter(address: &str, name: &str) -> Option<String> {
    let url = url::Url::parse(address).expect("an address");
    url.query_pairs().find(|(key, _)| key == name).map(|(_, value)| value.into_owned())
}
