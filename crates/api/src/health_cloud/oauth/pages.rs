//! The pages that a person sees: login, consent, and what went wrong. They work without JavaScript, which is not even
//! allowed on them.

use axum::http::header::{
    CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use platform::oauth::AuthorizationRequest;
use url::Url;

use super::markup::Markup;

const STYLE: &str = "
:root { color-scheme: light dark; font: 100%/1.5 system-ui, sans-serif; }
body { margin: 0; min-height: 100vh; display: grid; place-items: center; background: Canvas; color: CanvasText; }
main { box-sizing: border-box; width: 100%; max-width: 26rem; padding: 2rem 1.5rem; }
h1 { font-size: 1.4rem; line-height: 1.3; margin: 0 0 1rem; overflow-wrap: anywhere; }
label { display: block; margin: 1rem 0 .25rem; font-weight: 600; }
input { box-sizing: border-box; width: 100%; padding: .6rem; font: inherit; border: 1px solid GrayText; border-radius: .4rem; }
button { padding: .6rem 1.2rem; margin: 1.5rem .5rem 0 0; font: inherit; border: 1px solid #0b6b57; border-radius: .4rem; cursor: pointer; }
button.first { background: #0b6b57; color: #fff; }
button.second { background: Canvas; color: CanvasText; }
.wrong { padding: .6rem .8rem; border-left: .3rem solid #b3261e; background: color-mix(in srgb, #b3261e 12%, Canvas); }
.small { font-size: .875rem; overflow-wrap: anywhere; }
";

/// What a page is sent with.
pub(super) struct Page {
    status: StatusCode,
    title: &'static str,
    body: Markup,
    /// Where its forms may lead next to this server, for its policy.
    leads_to: Option<String>,
    /// What allows the style, and nothing else, to be in the page.
    nonce: String,
}

/// What the login page shows again after a try that failed.
#[derive(Default)]
pub(super) struct LoginTry<'a> {
    /// What went wrong.
    pub wrong: Option<&'a str>,
    /// The name that was typed.
    pub name: &'a str,
    /// Whether a new password has to be chosen.
    pub choose_password: bool,
}

impl Page {
    /// Where a patient logs in.
    pub(super) fn login(nonce: String, request: &AuthorizationRequest, ticket: &str, tried: &LoginTry<'_>) -> Self {
        let mut body = Markup::default().raw("<h1>Log in to continue to ").text(&request.client_name).raw("</h1>");
        if let Some(wrong) = tried.wrong {
            body = body.raw("<p class=\"wrong\" role=\"alert\">").text(wrong).raw("</p>");
        }
        body = body
            .piece(&form_with(ticket))
            .raw("<label for=\"name\">E-mail or code</label>")
            .raw("<input id=\"name\" name=\"name\" autocomplete=\"username\" autocapitalize=\"none\" required value=\"")
            .text(tried.name)
            .raw("\"><label for=\"password\">Password</label>")
            .raw("<input id=\"password\" name=\"password\" type=\"password\" autocomplete=\"current-password\" required>");
        if tried.choose_password {
            body = body.raw(
                "<label for=\"new_password\">New password, at least 10 characters</label>\
                 <input id=\"new_password\" name=\"new_password\" type=\"password\" autocomplete=\"new-password\" \
                 minlength=\"10\" required>",
            );
        }
        body = body.raw("<button class=\"first\" name=\"action\" value=\"login\">Log in</button>").raw("</form>");
        let status = if tried.wrong.is_some() { StatusCode::FORBIDDEN } else { StatusCode::OK };
        Page { status, title: "Log in", body, leads_to: None, nonce }
    }

    /// Where a patient decides what an application may do.
    pub(super) fn consent(nonce: String, request: &AuthorizationRequest, ticket: &str) -> Self {
        let mut body = Markup::default().raw("<h1>").text(&request.client_name).raw(" asks you to let it</h1><ul>");
        for scope in request.scope.split(' ') {
            body = match scope {
                "patient.read" => body.raw("<li>read your health data: measurements, summaries, bracelets</li>"),
                "patient.sync" => body.raw("<li>send measurements in your name</li>"),
                other => body.raw("<li>").text(other).raw("</li>"),
            };
        }
        body = body
            .raw("</ul><p class=\"small\">What it does with your data: <a rel=\"noreferrer\" href=\"")
            .text(&request.privacy_policy_url)
            .raw("\">privacy policy</a>. You will be sent to ")
            .text(&request.redirect_uri)
            .raw("</p>")
            .piece(&form_with(ticket))
            .raw("<button class=\"first\" name=\"action\" value=\"allow\">Allow</button>")
            .raw("<button class=\"second\" name=\"action\" value=\"deny\">Do not allow</button></form>");
        let leads_to = Some(policy_source(&request.redirect_uri));
        Page { status: StatusCode::OK, title: "Allow access", body, leads_to, nonce }
    }

    /// What went wrong, when only the person can be informed.
    pub(super) fn wrong(nonce: String, status: StatusCode, what: &str) -> Self {
        let body = Markup::default()
            .raw("<h1>This does not work</h1><p>")
            .text(what)
            .raw("</p><p>Go back to the application that sent you here, and start again from there.</p>");
        Page { status, title: "This does not work", body, leads_to: None, nonce }
    }

    /// The same page with another status.
    pub(super) fn with_status(self, status: StatusCode) -> Self {
        Page { status, ..self }
    }
}

fn form_with(ticket: &str) -> Markup {
    Markup::default()
        .raw("<form method=\"post\" action=\"authorize\"><input type=\"hidden\" name=\"ticket\" value=\"")
        .text(ticket)
        .raw("\">")
}

/// How a policy names where an address leads. Browsers apply `form-action` also to where an answer redirects to.
fn policy_source(address: &str) -> String {
    let Ok(url) = Url::parse(address) else { return "'none'".to_owned() };
    match url.scheme() {
        // A policy has no way to write an address of IPv6.
        "http" | "https" if !matches!(url.host(), Some(url::Host::Ipv6(_))) => url.origin().ascii_serialization(),
        scheme => format!("{scheme}:"),
    }
}

impl IntoResponse for Page {
    fn into_response(self) -> Response {
        let page = Markup::default()
            .raw("<!DOCTYPE html><html lang=\"en\"><head><meta charset=\"utf-8\">")
            .raw("<meta name=\"viewport\" content=\"width=device-width\"><meta name=\"robots\" content=\"noindex\">")
            .raw("<title>")
            .text(self.title)
            .raw(" · Pulseward</title><style nonce=\"")
            .text(&self.nonce)
            .raw("\">")
            .raw(STYLE)
            .raw("</style></head><body><main>")
            .piece(&self.body)
            .raw("</main></body></html>");
        let policy = format!(
            "default-src 'none'; style-src 'nonce-{}'; form-action 'self' {}; frame-ancestors 'none'; base-uri 'none'",
            self.nonce,
            self.leads_to.unwrap_or_default()
        );
        let mut response = (self.status, page.into_string()).into_response();
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
        // Without a policy there would be a page on which scripts run, so the page is not sent then.
        let Ok(policy) = HeaderValue::from_str(&policy) else {
            return StatusCode::INTERNAL_SERVER_ERROR.into_response();
        };
        headers.insert(CONTENT_SECURITY_POLICY, policy);
        // With none at all a browser would not say either that a form comes from here. Others learn nothing.
        headers.insert(REFERRER_POLICY, HeaderValue::from_static("same-origin"));
        headers.insert(X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
        headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        response
    }
}

#[cfg(test)]
mod tests {
    use super::policy_source;

    #[test]
    fn a_policy_names_where_the_answer_goes() {
        let cases = [
            ("https://diary.example/back?x=1", "https://diary.example"),
            ("https://diary.example:8443/back", "https://diary.example:8443"),
            ("http://127.0.0.1:7777/back", "http://127.0.0.1:7777"),
            ("http://[::1]:7777/back", "http:"),
            ("org.example.diary:/back", "org.example.diary:"),
        ];
        for (address, source) in cases {
            assert_eq!(policy_source(address), source);
        }
    }
}
