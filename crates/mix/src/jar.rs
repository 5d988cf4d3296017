//! The cookies of a session (RFC 6265), for one target.
//!
//! `Secure` and `HttpOnly` change nothing: a cookie goes back to the target that set it, whatever the
//! scheme of its URL. Nothing here reads a clock.

use std::net::Ipv4Addr;
use std::ops::Range;

use measure::civil;

#[cfg(test)]
mod tests;

/// The maximum number of cookies of a session, and of the bytes in each cookie's name, value and path.
/// What is beyond them is a failure of the response that sets it.
const MOST_COOKIES: usize = 32;
const MOST_BYTES: usize = 4096;

/// The cookies of one session. It keeps its buffers when it is emptied.
#[derive(Clone, Debug, Default)]
pub(crate) struct Jar {
    cookies: Vec<Cookie>,
    /// The number of cookies that are in use; the rest are buffers.
    used: usize,
}

#[derive(Clone, Debug, Default)]
struct Cookie {
    name: Vec<u8>,
    value: Vec<u8>,
    path: Vec<u8>,
    /// The end of its life, in milliseconds since 1970.
    expires: u64,
}

/// The place that sets cookies.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setter<'a> {
    /// The host of the request, without its port.
    pub(crate) host: &'a str,
    /// The target of the request.
    pub(crate) target: &'a [u8],
    /// The milliseconds since 1970.
    pub(crate) now: u64,
}

/// The parsed value of a `Set-Cookie` field.
#[derive(Debug, PartialEq)]
struct Set<'a> {
    name: &'a [u8],
    value: &'a [u8],
    path: Option<&'a [u8]>,
    domain: Option<&'a [u8]>,
    expires: u64,
}

/// Returns the name and the value that a `Set-Cookie` field sets.
pub(crate) fn pair(field: &[u8]) -> Option<(&[u8], &[u8])> {
    let pair = field.split(|&byte| byte == b';').next()?;
    let equals = pair.iter().position(|&byte| byte == b'=')?;
    let (name, value) = (pair[..equals].trim_ascii(), pair[equals + 1..].trim_ascii());
    (!name.is_empty()).then_some((name, value))
}

impl Jar {
    pub(crate) fn clear(&mut self) {
        self.used = 0;
    }

    /// Handles a `Set-Cookie` field. A cookie for another domain is ignored, as one without a name is;
    /// false if it is too large, or one too many.
    pub(crate) fn set(&mut self, field: &[u8], of: Setter<'_>) -> bool {
        let Some(set) = Set::parse(field, of.now) else { return true };
        if set.domain.is_some_and(|domain| !matches_domain(of.host, domain)) {
            return true;
        }
        let path = set.path.unwrap_or_else(|| folder(path_of(of.target)));
        let same = |cookie: &Cookie| cookie.name == set.name && cookie.path == path;
        let known = self.cookies[..self.used].iter().position(same);
        if set.expires <= of.now {
            if let Some(index) = known {
                self.used -= 1;
                self.cookies.swap(index, self.used);
            }
            return true;
        }
        if MOST_BYTES < set.name.len() + set.value.len() + path.len() {
            return false;
        }
        let index = known.unwrap_or(self.used);
        if index == MOST_COOKIES {
            return false;
        }
        if index == self.cookies.len() {
            self.cookies.push(Cookie::default());
        }
        self.used = self.used.max(index + 1);
        let cookie = &mut self.cookies[index];
        for (into, from) in
            [(&mut cookie.name, set.name), (&mut cookie.value, set.value), (&mut cookie.path, path)]
        {
            into.clear();
            into.extend_from_slice(from);
        }
        cookie.expires = set.expires;
        true
    }

    /// Appends the field `Cookie` to a request whose target is this part of it, if there are any cookies
    /// for it.
    pub(crate) fn write_for(&self, target: Range<usize>, now: u64, out: &mut Vec<u8>) {
        let mut before: &[u8] = b"Cookie: ";
        for cookie in &self.cookies[..self.used] {
            if cookie.expires <= now || !matches_path(path_of(&out[target.clone()]), &cookie.path) {
                continue;
            }
            out.extend_from_slice(before);
            out.extend_from_slice(&cookie.name);
            out.push(b'=');
            out.extend_from_slice(&cookie.value);
            before = b"; ";
        }
        if before == b"; " {
            out.extend_from_slice(b"\r\n");
        }
    }
}

impl<'a> Set<'a> {
    fn parse(field: &'a [u8], now: u64) -> Option<Set<'a>> {
        let (name, value) = pair(field)?;
        let mut set = Set { name, value, path: None, domain: None, expires: u64::MAX };
        let mut has_age = false;
        for attribute in field.split(|&byte| byte == b';').skip(1) {
            let equals = attribute.iter().position(|&byte| byte == b'=');
            let (key, value) = match equals {
                Some(at) => (attribute[..at].trim_ascii(), attribute[at + 1..].trim_ascii()),
                None => (attribute.trim_ascii(), &b""[..]),
            };
            let is = |name: &[u8]| key.eq_ignore_ascii_case(name);
            if is(b"path") {
                set.path = Some(value).filter(|path| path.starts_with(b"/"));
            } else if is(b"domain") {
                let domain = value.strip_prefix(b".").unwrap_or(value);
                set.domain = Some(domain).filter(|domain| !domain.is_empty());
            } else if is(b"max-age") {
                let Some(age) = age(value) else { continue };
                has_age = true;
                set.expires = if age <= 0 {
                    0
                } else {
                    now.saturating_add((age as u64).saturating_mul(1000))
                };
            } else if is(b"expires")
                && !has_age
                && let Some(at) = date(value)
            {
                set.expires = at;
            }
        }
        Some(set)
    }
}

/// Returns a number of seconds, as large as it may be.
fn age(text: &[u8]) -> Option<i64> {
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let text = std::str::from_utf8(text).ok()?;
    Some(text.parse().unwrap_or(if text.starts_with('-') { i64::MIN } else { i64::MAX }))
}

fn path_of(target: &[u8]) -> &[u8] {
    let end = target.iter().position(|&byte| byte == b'?').unwrap_or(target.len());
    &target[..end]
}

/// Returns the path up to its last `/`, which a cookie has that names none.
fn folder(path: &[u8]) -> &[u8] {
    match path.iter().rposition(|&byte| byte == b'/') {
        Some(at) if 0 < at && path.starts_with(b"/") => &path[..at],
        _ => b"/",
    }
}

fn matches_path(path: &[u8], of_cookie: &[u8]) -> bool {
    let Some(rest) = path.strip_prefix(of_cookie) else { return false };
    rest.is_empty() || of_cookie.ends_with(b"/") || rest.starts_with(b"/")
}

/// RFC 6265 §5.1.3: the domains above a name match it; an address has none.
fn matches_domain(host: &str, domain: &[u8]) -> bool {
    let is_name = host.parse::<Ipv4Addr>().is_err() && !host.starts_with('[');
    let host = host.as_bytes();
    let Some(before) = host.len().checked_sub(domain.len()) else { return false };
    host[before..].eq_ignore_ascii_case(domain)
        && (before == 0 || is_name && host[before - 1] == b'.')
}

/// Parses `Wed, 21 Oct 2026 07:28:00 GMT`, also with `-` in the date, to milliseconds since 1970. A time
/// before that is 0.
fn date(text: &[u8]) -> Option<u64> {
    const MONTHS: [&str; 12] =
        ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
    let text = std::str::from_utf8(text).ok()?;
    let text = text.split_once(',').map_or(text, |(_, rest)| rest);
    let mut words = text.split([' ', '-']).filter(|word| !word.is_empty());
    let day: i64 = words.next()?.parse().ok()?;
    let name = words.next()?.get(..3)?.to_ascii_lowercase();
    let month = MONTHS.iter().position(|known| *known == name)? as i64 + 1;
    let year: i64 = words.next()?.parse().ok()?;
    let year = match year {
        0..70 => 2000 + year,
        70..100 => 1900 + year,
        _ => year,
    };
    let mut time = words.next()?.split(':').map(|part| part.parse::<i64>().ok());
    let (hour, minute) = (time.next()??, time.next()??);
    let second = time.next().flatten().unwrap_or_default();
    let fits = (1..=31).contains(&day) && (0..=9999).contains(&year);
    if !fits || !(0..24).contains(&hour) || !(0..60).contains(&minute) {
        return None;
    }
    let days = civil::days(year, month, day);
    let seconds = ((days * 24 + hour) * 60 + minute) * 60 + second.clamp(0, 60);
    Some(u64::try_from(seconds).map_or(0, |seconds| seconds * 1000))
}
