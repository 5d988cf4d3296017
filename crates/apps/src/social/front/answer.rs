//! Responses: their texts and headers are the original's.

use std::net::IpAddr;
use std::time::{Duration, UNIX_EPOCH};

use hyper::StatusCode;
use hyper::body::Bytes;
use hyper::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_MAX_AGE, HeaderName, HeaderValue, LOCATION, SET_COOKIE, X_CONTENT_TYPE_OPTIONS,
};
use tonic::Status;

use crate::kit::answer::{PROMETHEUS, of_type};
use crate::kit::serve::FullResponse;

/// The type of texts, as nginx sends a file without a name.
const TEXT: &str = "application/octet-stream";
const JSON: &str = "application/json; charset=utf-8";

/// The lifetime of the cookie; the session in it ends earlier.
const COOKIE: Duration = Duration::from_secs(24 * 3600);

/// A line of text with a status, instead of the requested response.
#[derive(Debug, PartialEq, Eq)]
pub struct Refusal {
    code: StatusCode,
    text: String,
}

impl Refusal {
    fn new(code: StatusCode, text: impl Into<String>) -> Self {
        Refusal { code, text: text.into() }
    }

    pub fn incomplete() -> Self {
        Refusal::new(StatusCode::BAD_REQUEST, "Incomplete arguments")
    }

    /// Adds the line that the original's login has after this one.
    pub fn with_address(self, address: IpAddr) -> Self {
        Refusal { text: format!("{}\n{address}", self.text), ..self }
    }

    pub fn invalid(name: &str, expected: &str) -> Self {
        Refusal::new(
            StatusCode::BAD_REQUEST,
            format!("Invalid arguments: {name} is not {expected}"),
        )
    }

    pub fn unauthorized(why: &Status) -> Self {
        Refusal::new(StatusCode::UNAUTHORIZED, why.message())
    }

    pub fn unhealthy(why: String) -> Self {
        Refusal::new(StatusCode::SERVICE_UNAVAILABLE, why)
    }

    pub fn wrong_method() -> Self {
        Refusal::new(StatusCode::METHOD_NOT_ALLOWED, "use POST")
    }

    pub fn not_found() -> Self {
        Refusal::new(StatusCode::NOT_FOUND, "404 Not Found")
    }

    /// A failed call, after the words of its endpoint.
    pub fn failed(words: &str, status: &Status) -> Self {
        let text = format!("{words}: {}", status.message());
        Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, text)
    }
}

impl From<Refusal> for FullResponse {
    fn from(Refusal { code, text }: Refusal) -> Self {
        let mut answer = of_type(code, TEXT, text + "\n");
        // The text may repeat what a user wrote; no browser shall guess that it is a page.
        answer.headers_mut().insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        answer
    }
}

pub fn text(text: &'static str) -> FullResponse {
    of_type(StatusCode::OK, TEXT, text)
}

pub fn json(body: impl Into<Bytes>) -> FullResponse {
    of_type(StatusCode::OK, JSON, body)
}

pub fn metrics(text: String) -> FullResponse {
    of_type(StatusCode::OK, PROMETHEUS, text)
}

/// Answers OPTIONS: pages of other origins may ask, though without the cookie.
pub fn preflight() -> FullResponse {
    const HEADERS: [(HeaderName, &str); 4] = [
        (ACCESS_CONTROL_ALLOW_ORIGIN, "*"),
        (ACCESS_CONTROL_ALLOW_METHODS, "GET, POST, OPTIONS"),
        (ACCESS_CONTROL_ALLOW_HEADERS, "Content-Type"),
        (ACCESS_CONTROL_MAX_AGE, "1728000"),
    ];
    let mut answer = FullResponse::default();
    *answer.status_mut() = StatusCode::NO_CONTENT;
    for (name, value) in HEADERS {
        answer.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    answer
}

/// Lets pages of other origins read an answer.
pub fn for_all_origins(mut answer: FullResponse) -> FullResponse {
    answer.headers_mut().insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    answer
}

pub fn redirect(to: &str) -> FullResponse {
    let mut answer = FullResponse::default();
    *answer.status_mut() = StatusCode::FOUND;
    let location = HeaderValue::from_str(to).expect("parts from users are encoded");
    answer.headers_mut().insert(LOCATION, location);
    answer
}

/// Leads a user who has just logged in to the main page, with the session as a cookie that no script
/// can read and that other sites cannot send.
pub fn logged_in(username: &str, token: &str, now: Duration) -> FullResponse {
    let username: String = form_urlencoded::byte_serialize(username.as_bytes()).collect();
    let mut answer = redirect(&format!("../../main.html?username={username}"));
    let end = httpdate::fmt_http_date(UNIX_EPOCH + now + COOKIE);
    let cookie = format!("login_token={token}; Path=/; Expires={end}; HttpOnly; SameSite=Lax");
    let cookie = HeaderValue::from_str(&cookie).expect("tokens are of base64");
    answer.headers_mut().insert(SET_COOKIE, cookie);
    answer
}
