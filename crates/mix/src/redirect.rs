//! Redirects (RFC 9110 §15.4), as far as they lead to the same target.

use load::driver::http1::Response;
use wire::http1::{bad_in_target, fields};

#[cfg(test)]
mod tests;

/// The longest target that a redirect may lead to.
const MOST_BYTES: usize = 8 * 1024;

pub(crate) const NOWHERE: &str = "redirected to no valid place";
pub(crate) const ELSEWHERE: &str = "redirected to another server, which the load does not include";
pub(crate) const TOO_OFTEN: &str = "redirected more often than `redirects` allows";

/// A redirect that is to be followed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Hop {
    /// With the same method and body.
    Same,
    /// With GET, or with HEAD if that was the method, and without a body.
    Get,
}

/// Returns the request that follows a response; `None` if it is no redirect with a place.
pub(crate) fn hop(answer: &Response<'_>, method: &str) -> Option<Hop> {
    let hop = match answer.status {
        303 if method == "HEAD" => Hop::Same,
        303 => Hop::Get,
        301 | 302 if method == "POST" => Hop::Get,
        301 | 302 | 307 | 308 => Hop::Same,
        _ => return None,
    };
    location(answer.head).map(|_| hop)
}

pub(crate) fn location(head: &[u8]) -> Option<&[u8]> {
    let mut found = fields(head);
    let (_, value) = found.find(|(name, _)| name.eq_ignore_ascii_case("location"))?;
    Some(value.trim_ascii())
}

/// The server of a target, to which its redirects must lead.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Server<'a> {
    pub(crate) is_tls: bool,
    pub(crate) host: &'a str,
}

/// Writes the target to which a `Location` leads from a request to `server` with the target `from`. An
/// error is the reason why it cannot be followed.
pub(crate) fn resolve(
    location: &[u8],
    from: &[u8],
    server: Server<'_>,
    to: &mut Vec<u8>,
) -> Result<(), &'static str> {
    to.clear();
    let location = std::str::from_utf8(location).map_err(|_| NOWHERE)?;
    let location = location.split('#').next().unwrap_or_default();
    if MOST_BYTES < location.len() || bad_in_target(location).is_some() {
        return Err(NOWHERE);
    }
    let mut rest = location;
    let scheme = ["http://", "https://", "//"].into_iter().find(|scheme| {
        rest.get(..scheme.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(scheme))
    });
    if let Some(scheme) = scheme {
        rest = &rest[scheme.len()..];
        let end = rest.find(['/', '?']).unwrap_or(rest.len());
        // Another scheme is another server, and what is meant for https must not be sent in plain text.
        let own = if server.is_tls { "https://" } else { "http://" };
        if ![own, "//"].contains(&scheme) || !rest[..end].eq_ignore_ascii_case(server.host) {
            return Err(ELSEWHERE);
        }
        rest = &rest[end..];
        if !rest.starts_with('/') {
            to.push(b'/');
        }
        to.extend_from_slice(rest.as_bytes());
        return Ok(());
    }
    if rest.split(['/', '?']).next().is_some_and(|first| first.contains(':')) {
        return Err(ELSEWHERE);
    }
    let path = from.split(|&byte| byte == b'?').next().unwrap_or_default();
    if rest.is_empty() {
        to.extend_from_slice(from);
    } else if rest.starts_with('?') {
        to.extend_from_slice(path);
    } else if !rest.starts_with('/') {
        let mut folder = folder(path);
        loop {
            rest = match (rest.strip_prefix("./"), rest.strip_prefix("../")) {
                (Some(behind), _) => behind,
                (_, Some(behind)) => {
                    folder = self::folder(folder.strip_suffix(b"/").unwrap_or_default());
                    behind
                }
                (None, None) => break,
            };
        }
        to.extend_from_slice(folder);
    }
    to.extend_from_slice(rest.as_bytes());
    Ok(())
}

/// Returns the path up to its last `/`.
fn folder(path: &[u8]) -> &[u8] {
    match path.iter().rposition(|&byte| byte == b'/') {
        Some(at) => &path[..=at],
        None => b"/",
    }
}
