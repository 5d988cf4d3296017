//! The pages for people: sign up, log in, write, follow, and read timelines. They are static, load
//! nothing from other sites, and ask the front's `/api` by one script, which puts what users typed
//! only into text nodes.

use hyper::StatusCode;
use hyper::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, HeaderName, HeaderValue, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS,
};

use crate::kit::answer::of_type;
use crate::kit::serve::FullResponse;

#[cfg(test)]
mod tests;

/// Only our own files and requests, no scripts or styles in pages, and no frames. The icon is empty,
/// so that no browser asks for one.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; \
                      connect-src 'self'; form-action 'self'; base-uri 'none'; \
                      frame-ancestors 'none'";

const HTML: &str = "text/html; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";

/// Returns the page or the file of a path, if there is one.
pub fn answer(path: &str) -> Option<FullResponse> {
    let (content_type, text) = match path {
        "/" | "/index.html" => (HTML, include_str!("pages/index.html")),
        "/signup.html" => (HTML, include_str!("pages/signup.html")),
        "/main.html" => (HTML, include_str!("pages/main.html")),
        "/compose.html" => (HTML, include_str!("pages/compose.html")),
        "/contact.html" => (HTML, include_str!("pages/contact.html")),
        "/profile.html" => (HTML, include_str!("pages/profile.html")),
        "/social.css" => (CSS, include_str!("pages/social.css")),
        "/social.js" => (SCRIPT, include_str!("pages/social.js")),
        _ => return None,
    };
    const FIELDS: [(HeaderName, &str); 4] = [
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        // The address of the main page has the user's name.
        (REFERRER_POLICY, "no-referrer"),
        (CACHE_CONTROL, "no-cache"),
    ];
    let mut answer = of_type(StatusCode::OK, content_type, text);
    for (name, value) in FIELDS {
        answer.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    Some(answer)
}
