//! `/docs`: the OpenAPI document for people, in Swagger UI, with a search and a way to try each operation out. All files
//! are in the program.

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use axum::http::{HeaderValue, Request, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use tower::ServiceExt as _;
use tower_http::set_header::SetResponseHeaderLayer;
use utoipa_swagger_ui::{Config, SwaggerUi, oauth};

/// Scripts, styles and requests of this server only. What the style sheet draws is written in itself (`data:`).
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; \
     base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// The script that begins the page.
const START: &str = "/docs/swagger-initializer.js";
/// The last plugin that the library begins the page with.
const LAST_PLUGIN: &str = "SwaggerUIBundle.plugins.DownloadUrl";
/// A plugin that searches operations, where the library's search looks at the names of tags alone.
const SEARCH: &str = include_str!("document_page/search.js");

/// Returns the page and its files.
pub(crate) fn routes<S: Clone + Send + Sync + 'static>() -> Router<S> {
    let config = Config::from("/openapi.json")
        .use_base_layout()
        .filter(true)
        .doc_expansion("none")
        .display_request_duration(true)
        // Else a service of others is asked what it thinks of the document.
        .validator_url("none");
    // Applications without a secret have to prove that they are the one that asked.
    let oauth = oauth::Config::new().use_pkce_with_authorization_code_grant(true);
    let ui = SwaggerUi::new("/docs").config(config).oauth(oauth);
    let files = Router::from(ui.clone());
    // More exact than the path of all files, so it is asked first.
    let page = Router::<S>::from(ui).route(START, get(move || start(files.clone())));
    let policy = HeaderValue::from_static(POLICY);
    page.route_layer(SetResponseHeaderLayer::overriding(CONTENT_SECURITY_POLICY, policy))
        .route_layer(SetResponseHeaderLayer::overriding(CACHE_CONTROL, kept_for))
}

/// The library's script with the search among its plugins.
async fn start(files: Router) -> Response {
    // A router that answers fails at nothing.
    let Ok(answer) = files.oneshot(Request::get(START).body(Body::empty()).unwrap_or_default()).await;
    let (mut head, body) = answer.into_parts();
    let script = to_bytes(body, usize::MAX).await.ok().and_then(|bytes| String::from_utf8(bytes.to_vec()).ok());
    let Some(script) = script else { return StatusCode::INTERNAL_SERVER_ERROR.into_response() };
    head.headers.remove(axum::http::header::CONTENT_LENGTH);
    let script = script.replace(LAST_PLUGIN, &format!("{LAST_PLUGIN}, searchOperations"));
    (head, format!("{SEARCH}\n{script}")).into_response()
}

/// Returns how long a browser may keep an answer, where that is not what holds for all.
fn kept_for(answer: &Response) -> Option<HeaderValue> {
    let kind = answer.headers().get(CONTENT_TYPE)?.as_bytes();
    // The files are large and change with the program only. Where OAuth comes back to a page, its address holds a code.
    (!kind.starts_with(b"text/html")).then(|| HeaderValue::from_static("max-age=3600"))
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use axum::http::HeaderMap;
    use axum::http::header::{CONTENT_ENCODING, LOCATION};

    use super::*;

    async fn get(path: &str) -> (StatusCode, HeaderMap, Vec<u8>) {
        let request = Request::get(path).body(Body::empty()).expect("a request");
        let answer = routes::<()>().oneshot(request).await.expect("an answer");
        let (head, body) = answer.into_parts();
        (head.status, head.headers, to_bytes(body, usize::MAX).await.expect("a body").to_vec())
    }

    async fn text(path: &str) -> String {
        let (status, headers, body) = get(path).await;
        assert_eq!(status, StatusCode::OK, "{path}");
        assert_eq!(headers[CONTENT_SECURITY_POLICY], POLICY, "{path}");
        let mut text = String::new();
        if headers.get(CONTENT_ENCODING).is_some_and(|coding| coding == "gzip") {
            flate2::read::GzDecoder::new(&body[..]).read_to_string(&mut text).expect("a text");
        } else {
            text = String::from_utf8(body).expect("a text");
        }
        text
    }

    /// Returns what a page loads.
    fn named(page: &str) -> Vec<String> {
        let after = |name: &'static str| page.split(name).skip(1).filter_map(|rest| rest.split('"').next());
        let all = after("src=\"").chain(after("href=\""));
        all.map(|name| format!("/docs/{}", name.trim_start_matches("./"))).collect()
    }

    #[tokio::test]
    async fn the_page_and_all_that_it_names_are_in_the_program() {
        let (status, headers, _) = get("/docs").await;
        assert_eq!(status, StatusCode::SEE_OTHER);
        assert_eq!(headers[LOCATION], "/docs/");
        let page = text("/docs/").await;
        let mut files = named(&page);
        assert!(files.len() > 4, "{page}");
        files.extend(named(&text("/docs/oauth2-redirect.html").await));
        for file in &files {
            let (status, headers, body) = get(file).await;
            assert_eq!(status, StatusCode::OK, "{file}");
            assert!(!body.is_empty(), "{file}");
            let kind = headers[CONTENT_TYPE].to_str().expect("a text");
            let expected = match file.rsplit('.').next() {
                Some("js") => "text/javascript",
                Some("css") => "text/css",
                _ => "image/png",
            };
            // Browsers are asked not to guess.
            assert_eq!(kind.split(';').next(), Some(expected), "{file}");
            assert_eq!(headers[CACHE_CONTROL], "max-age=3600", "{file}");
        }
        assert!(page.contains("swagger-initializer.js"), "{page}");
        for inline in ["style=", "<style", "onclick", "<script>", "src=\"http", "href=\"http"] {
            assert!(!page.contains(inline), "{inline}: the policy forbids it");
        }
        for not_kept in ["/docs", "/docs/", "/docs/oauth2-redirect.html?code=x&state=y", "/docs/nothing.js"] {
            assert_eq!(get(not_kept).await.1.get(CACHE_CONTROL), None, "{not_kept}");
        }
        assert_eq!(get("/docs/nothing.js").await.0, StatusCode::NOT_FOUND);
    }

    #[tokio::test]
    async fn it_shows_the_document_of_this_server_with_a_search() {
        let start = text("/docs/swagger-initializer.js").await;
        for line in ["\"url\": \"/openapi.json\"", "\"filter\": true", "\"validatorUrl\": \"none\""] {
            assert!(start.contains(line), "{line}\n{start}");
        }
        assert!(!start.contains("{{config}}") && !start.contains("http"), "{start}");
        assert!(start.starts_with(SEARCH) && start.contains("DownloadUrl, searchOperations"), "{start}");
    }
}
