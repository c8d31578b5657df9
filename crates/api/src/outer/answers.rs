//! What is answered for a route by what surrounds it: the one list from which the OpenAPI document takes such answers.
//!
//! A route describes its own answer and the errors of what it does. The listener, the layers of [`super::wrap`] and the
//! extractors of bodies and credentials answer for it without being asked, so that no route can be trusted to name them.

/// Routes by which a service is watched. They are neither limited nor refused.
pub(crate) const PROBES: [&str; 2] = ["/livez", "/readyz"];

/// Operations that are answered so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// All.
    Every,
    /// All but the probes, which are neither limited nor refused.
    AllButProbes,
    /// Those with a parameter in the path.
    PathParameters,
    /// Those with a parameter in the query.
    QueryParameters,
    /// Those that ask for a credential.
    Credentials,
    /// Those that a page calls with the cookie of its session and the token against forged requests.
    Pages,
    /// Those with a body.
    Bodies,
    /// Those with a body that is no form of a browser.
    TypedBodies,
}

/// An answer of what surrounds a route.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LayerAnswer {
    /// Status.
    pub status: u16,
    /// Operations that are answered so.
    pub reach: Reach,
    /// Snake-case code for programs.
    pub code: &'static str,
    /// A sentence for people, as it is sent or as it may be.
    pub message: &'static str,
}

/// All of them. Of one status, the first gives the shared answer its name.
pub(crate) static ANSWERS: [LayerAnswer; 17] = [
    // Before any route is looked for, so that even a probe can be answered so: `Hosts` and `UnknownCoding`.
    of(400, Reach::Every, "bad_host", "the request does not say clearly which host it is for"),
    of(501, Reach::Every, "unsupported_transfer_encoding", "the only Transfer-Encoding that is read is chunked"),
    // A panic, and a database that answers what it should not.
    of(500, Reach::Every, "internal", "something went wrong on our side"),
    of(429, Reach::AllButProbes, "too_many_requests", "too many requests"),
    of(503, Reach::AllButProbes, "unavailable", "the service is not available just now; nothing was lost"),
    of(503, Reach::AllButProbes, "overloaded", "the service is not available just now; nothing was lost"),
    of(503, Reach::AllButProbes, "data_damaged", "stored data that this answer needs are damaged and are not shown"),
    // No name has a NUL character, and none is written in bytes that are no UTF-8.
    of(404, Reach::PathParameters, "not_found", "there is nothing at this address"),
    of(400, Reach::PathParameters, "bad_request", "the request cannot be read"),
    of(400, Reach::QueryParameters, "malformed_parameter", "include_slots must be 0 or 1"),
    of(401, Reach::Credentials, "unauthenticated", "the credential is not valid"),
    of(403, Reach::Pages, "csrf", "the header X-CSRF-Token is missing or not the one of this session"),
    of(400, Reach::Bodies, "cut_off", "the body could not be read to its end"),
    of(
        408,
        Reach::Bodies,
        "timeout",
        "the body came too slowly: up to 64 KiB must be sent within 30 s, more at 1024 bytes a second or faster",
    ),
    of(413, Reach::Bodies, "too_large", "the body is too large"),
    of(415, Reach::TypedBodies, "unsupported_media_type", "the Content-Type must be application/json"),
    of(422, Reach::TypedBodies, "invalid", "the request is not valid"),
];

const fn of(status: u16, reach: Reach, code: &'static str, message: &'static str) -> LayerAnswer {
    LayerAnswer { status, reach, code, message }
}
