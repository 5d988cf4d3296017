//! The responses of our HTTP servers.

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::{Response, StatusCode};

use super::serve::FullResponse;

/// The type of metrics in Prometheus' text format, which is plain text.
pub const PROMETHEUS: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Returns a response with a body of this type.
pub fn of_type(
    code: StatusCode,
    content_type: &'static str,
    body: impl Into<Bytes>,
) -> FullResponse {
    let mut response = Response::new(Full::new(body.into()));
    *response.status_mut() = code;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}
