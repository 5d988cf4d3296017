//! URLs of targets: the only place where they are parsed.

use std::fmt;

#[cfg(test)]
mod tests;

/// The address of a target, with the path and query that are requested there.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Url {
    pub scheme: Scheme,
    /// The text before `@`, such as `name:password`; it is not sent as a part of the URL.
    pub user_info: Option<String>,
    pub place: Place,
    /// The host with the port as they were written, which is the value of `Host`.
    pub authority: String,
    /// The path, with the query if there is one; never empty. A fragment is not part of it.
    pub target: String,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Scheme {
    Http,
    Https,
}

/// The place that a URL names.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Place {
    /// A host without brackets, and the port if there is one.
    Host(String, Option<u16>),
    /// The path of a Unix socket.
    Socket(String),
}

impl Scheme {
    pub fn name(self) -> &'static str {
        match self {
            Scheme::Http => "http",
            Scheme::Https => "https",
        }
    }

    /// The port that is meant if a URL names none.
    pub fn port(self) -> u16 {
        match self {
            Scheme::Http => 80,
            Scheme::Https => 443,
        }
    }
}

impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Parses `http://host:8080/path?query`, `https://…` or `http+unix://%2Frun%2Fa.sock/path`. An
/// error names the part that is wrong, and the remedy.
pub fn parse(url: &str) -> Result<Url, String> {
    let Some((scheme, rest)) = url.split_once("://") else {
        return Err(format!("`{}` has no scheme; write http://{0}", url.escape_debug()));
    };
    let is_socket = scheme.eq_ignore_ascii_case("http+unix");
    let scheme = match scheme {
        _ if is_socket => Scheme::Http,
        scheme if scheme.eq_ignore_ascii_case("http") => Scheme::Http,
        scheme if scheme.eq_ignore_ascii_case("https") => Scheme::Https,
        scheme => {
            return Err(format!(
                "`{}`: `{}` is not supported; there are `http`, `https` and `http+unix`",
                url.escape_debug(),
                scheme.escape_debug()
            ));
        }
    };
    let wrong = |why: String| format!("`{}`: {why}", url.escape_debug());
    let sent = rest.split('#').next().unwrap_or(rest);
    let (authority, target) = sent.split_at(sent.find(['/', '?']).unwrap_or(sent.len()));
    if ends_in_password(authority, &rest[authority.len()..]) {
        // Without the URL: what was taken for its port is a part of the password.
        return Err("the password of a URL has `/`, `?` or `#`; write %2F, %3F or %23".to_owned());
    }
    let target = if target.starts_with('/') { target.to_owned() } else { format!("/{target}") };
    super::http1::check_target(&target).map_err(wrong)?;
    if is_socket {
        let place = socket(authority).map(Place::Socket).map_err(wrong)?;
        let authority = "localhost".to_owned();
        return Ok(Url { scheme, user_info: None, place, authority, target });
    }
    let (user_info, authority) = match authority.rsplit_once('@') {
        Some((user_info, authority)) => (Some(user_info.to_owned()), authority),
        None => (None, authority),
    };
    let (host, port) = host_and_port(authority).map_err(wrong)?;
    let place = Place::Host(host.to_owned(), port);
    Ok(Url { scheme, user_info, place, authority: authority.to_owned(), target })
}

/// Returns true if what seems to be the authority of a URL is the beginning of its user information: the
/// password has a character that ends an authority. `behind` is what follows in the URL.
pub fn ends_in_password(authority: &str, behind: &str) -> bool {
    let port = authority.rsplit_once(':').map(|(_, port)| port);
    let is_none = |port: &str| !port.bytes().all(|byte| byte.is_ascii_digit());
    !authority.contains(['@', '[']) && port.is_some_and(is_none) && behind.contains('@')
}

/// Splits `host`, `host:8080` or `[::1]:8080`. The host is returned without brackets.
pub fn host_and_port(text: &str) -> Result<(&str, Option<u16>), String> {
    let (host, rest) = match text.strip_prefix('[') {
        Some(inside) => {
            let close = inside.find(']').ok_or("the bracket `[` of its host is not closed")?;
            let (host, rest) = (&inside[..close], &inside[close + 1..]);
            if !is_address(host) {
                return Err(format!("`{host}` is not an IPv6 address; write for example [::1]"));
            }
            (host, rest)
        }
        None => {
            let (host, rest) = text.split_at(text.find(':').unwrap_or(text.len()));
            if rest[rest.len().min(1)..].contains(':') {
                return Err(format!("write an IPv6 address in brackets: [{text}]"));
            }
            (host, rest)
        }
    };
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || "-._~!$&'()*+,;=%".contains(c);
    if host.is_empty() {
        return Err("it names no host; write for example 127.0.0.1:8080".to_owned());
    }
    if !text.starts_with('[') && !host.chars().all(is_of_name) {
        return Err(format!(
            "`{}` is not a valid host name; write an ASCII name or an IP address",
            host.escape_debug()
        ));
    }
    let Some(port) = rest.strip_prefix(':') else {
        return match rest {
            "" => Ok((host, None)),
            _ => Err(format!("`{}` follows its host; write :PORT there", rest.escape_debug())),
        };
    };
    let is_number = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    match port.parse::<u16>() {
        Ok(number) if is_number && number != 0 => Ok((host, Some(number))),
        _ => Err(format!(
            "`{}` is not a valid port; write a number from 1 to 65535, or leave out the colon",
            port.escape_debug()
        )),
    }
}

/// True for an IPv6 address, with or without a zone such as `%eth0`.
fn is_address(text: &str) -> bool {
    let (address, zone) = text.split_once('%').unwrap_or((text, "0"));
    let is_of_zone = |c: char| c.is_ascii_alphanumeric() || "-._~".contains(c);
    address.parse::<std::net::Ipv6Addr>().is_ok()
        && !zone.is_empty()
        && zone.chars().all(is_of_zone)
}

/// Returns the path of a socket, which is escaped in place of the host: `%2Frun%2Fa.sock`.
fn socket(escaped: &str) -> Result<String, String> {
    let socket = unescaped(escaped).filter(|socket| socket.starts_with('/'));
    socket.ok_or_else(|| {
        "it names no socket; write for example http+unix://%2Frun%2Fa.sock/path".to_owned()
    })
}

/// Replaces escapes: `%2F` becomes `/`.
fn unescaped(text: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let mut digit = || char::from(rest.next()?).to_digit(16);
                (digit()? * 16 + digit()?) as u8
            }
            byte => byte,
        });
    }
    String::from_utf8(bytes).ok().filter(|text| !text.contains('\0'))
}
