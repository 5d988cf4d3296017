//! URLs of targets: the only place where they are parsed.

use std::fmt;
use std::net::Ipv6Addr;

#[cfg(test)]
mod tests;

/// The address of a target, with the path and query that are requested there.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Url {
    pub scheme: Scheme,
    /// The text before `@`, such as `name:password`; it is not sent as a part of the URL.
    pub user_info: Option<String>,
    pub place: Destination,
    /// The host with the port as they were written, which is the value of `Host`.
    pub authority: String,
    /// The path, with the query if there is one; never empty. A fragment is not part of it.
    pub target: String,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Scheme {
    Http,
    Https,
    Redis,
    /// The key-value store.
    Kv,
}

/// The destination that a URL names.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Destination {
    /// A host without brackets, and the port if there is one.
    Host(String, Option<u16>),
    /// The path of a Unix socket.
    Socket(String),
}

impl Scheme {
    /// Those of key-value stores.
    pub const STORES: [Scheme; 2] = [Scheme::Redis, Scheme::Kv];

    pub fn name(self) -> &'static str {
        match self {
            Scheme::Http => "http",
            Scheme::Https => "https",
            Scheme::Redis => "redis",
            Scheme::Kv => "kv",
        }
    }

    /// The port that is meant if a URL names none.
    pub fn port(self) -> u16 {
        match self {
            Scheme::Http => 80,
            Scheme::Https => 443,
            Scheme::Redis => 6379,
            Scheme::Kv => 7720,
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
    let (written, rest) = split(url)?;
    let is_socket = written.eq_ignore_ascii_case("http+unix");
    let scheme = match written {
        _ if is_socket => Scheme::Http,
        written if written.eq_ignore_ascii_case("http") => Scheme::Http,
        written if written.eq_ignore_ascii_case("https") => Scheme::Https,
        written => {
            let is_it = |store: Scheme| written.eq_ignore_ascii_case(store.name());
            let why = match Scheme::STORES.into_iter().any(is_it) {
                true => "is a store, which needs a workload of YCSB or commands",
                false => "is not supported",
            };
            return Err(format!(
                "`{}`: `{}` {why}; for HTTP there are `http`, `https` and `http+unix`",
                url.escape_debug(),
                written.escape_debug()
            ));
        }
    };
    let Parts { user_info, place, authority, target, .. } = parts(url, rest, is_socket)?;
    Ok(Url { scheme, user_info, place, authority, target })
}

/// Returns true for the target of a request that is a whole URL, as a proxy expects it.
pub fn is_absolute(target: &str) -> bool {
    ["http://", "https://"].iter().any(|scheme| target.starts_with(scheme))
}

/// Parses the URL of a key-value store: `redis://user:password@host:6379/database` or `kv://host:7720`.
pub fn store(url: &str) -> Result<Url, String> {
    let (written, rest) = split(url)?;
    let mut known = Scheme::STORES.into_iter();
    let Some(scheme) = known.find(|scheme| written.eq_ignore_ascii_case(scheme.name())) else {
        return Err(format!(
            "`{}`: `{}` is not a store; write redis://HOST:PORT or kv://HOST:PORT",
            url.escape_debug(),
            written.escape_debug()
        ));
    };
    let Parts { user_info, place, authority, target, .. } = parts(url, rest, false)?;
    Ok(Url { scheme, user_info, place, authority, target })
}

/// The server that a URL of any scheme names.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Server {
    /// In small letters, and without `+unix`: `kv`, `redis`.
    pub scheme: String,
    pub place: Destination,
    /// The host with the port as they were written.
    pub authority: String,
    /// The port, which may be the usual one of the scheme; `None` of a socket.
    pub port: Option<u16>,
    /// The path, with the query if there is one, as that of [`Url`].
    pub target: String,
    /// The URL up to the end of its authority, as it was written: what a target follows.
    pub before_target: String,
    /// The URL with this port.
    pub url: String,
}

/// Parses the URL of a server, whatever its protocol: `kv://host:7720`, `redis://host/0`,
/// `redis+unix://%2Frun%2Fa.sock`. Without a usual port of its scheme, a URL must name one.
pub fn server(url: &str) -> Result<Server, String> {
    let (written, rest) = split(url)?;
    if !is_scheme(written) {
        return Err(format!(
            "`{}`: `{}` is not a valid scheme; write for example http or redis",
            url.escape_debug(),
            written.escape_debug()
        ));
    }
    let scheme = written.to_ascii_lowercase();
    let socket_of = scheme.strip_suffix("+unix");
    let Parts { place, authority, target, length, .. } = parts(url, rest, socket_of.is_some())?;
    let (before, behind) = url.split_at(url.len() - rest.len() + length);
    let before_target = before.to_owned();
    let Destination::Host(_, port) = place else {
        let scheme = socket_of.unwrap_or(&scheme).to_owned();
        let (port, url) = (None, url.to_owned());
        return Ok(Server { scheme, place, authority, port, target, before_target, url });
    };
    if port.is_some() {
        let url = url.to_owned();
        return Ok(Server { scheme, place, authority, port, target, before_target, url });
    }
    let Some(port) = usual_port(&scheme) else {
        return Err(format!(
            "`{}`: it names no port, and `{scheme}` has no usual one; write {}:PORT",
            url.escape_debug(),
            before.escape_debug()
        ));
    };
    let (port, url) = (Some(port), format!("{before}:{port}{behind}"));
    Ok(Server { scheme, place, authority, port, target, before_target, url })
}

/// Returns true for a scheme as RFC 3986 writes it: a letter, then letters, digits, `+`, `-` and `.`
pub fn is_scheme(text: &str) -> bool {
    let may_follow = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
    text.starts_with(|c: char| c.is_ascii_alphabetic()) && text.chars().all(may_follow)
}

/// Returns the port that is meant if a URL of this scheme names none.
fn usual_port(scheme: &str) -> Option<u16> {
    match scheme {
        "http" => Some(Scheme::Http.port()),
        "https" => Some(Scheme::Https.port()),
        "redis" | "rediss" => Some(Scheme::Redis.port()),
        "kv" => Some(Scheme::Kv.port()),
        "memcached" => Some(11211),
        _ => None,
    }
}

/// Splits a URL at the end of its scheme.
fn split(url: &str) -> Result<(&str, &str), String> {
    url.split_once("://").ok_or_else(|| match url.contains('@') {
        // Without the URL: what is before `@` may be a password, which is known as such only in a whole URL.
        true => "the URL has no scheme; write http://NAME:PASSWORD@HOST".to_owned(),
        false => format!("`{}` has no scheme; write http://{0}", url.escape_debug()),
    })
}

/// A URL without its scheme.
struct Parts {
    user_info: Option<String>,
    place: Destination,
    authority: String,
    target: String,
    /// The bytes up to the end of the authority, with the user information.
    length: usize,
}

/// Parses the `rest` of a URL behind its scheme.
fn parts(url: &str, rest: &str, is_socket: bool) -> Result<Parts, String> {
    let wrong = |why: String| format!("`{}`: {why}", url.escape_debug());
    let sent = rest.split('#').next().unwrap_or(rest);
    let (authority, target) = sent.split_at(sent.find(['/', '?']).unwrap_or(sent.len()));
    let length = authority.len();
    if ends_in_password(authority, &rest[length..]) {
        // Without the URL: what was taken for its port is a part of the password.
        return Err("the password of a URL has `/`, `?` or `#`; write %2F, %3F or %23".to_owned());
    }
    if authority.contains('@') && authority.contains(|c: char| ends_url(c) || c.is_control()) {
        // Without the URL: who hides passwords in messages takes this one to end there.
        return Err(
            "the name or the password of a URL has a space, a quote or the like; write it percent-encoded, \
             %20 for a space"
                .to_owned(),
        );
    }
    let target = if target.starts_with('/') { target.to_owned() } else { format!("/{target}") };
    super::http1::check_target(&target).map_err(wrong)?;
    if is_socket {
        let place = socket(authority).map(Destination::Socket).map_err(wrong)?;
        let authority = "localhost".to_owned();
        return Ok(Parts { user_info: None, place, authority, target, length });
    }
    let (user_info, authority) = match authority.rsplit_once('@') {
        Some((user_info, authority)) => (Some(user_info.to_owned()), authority),
        None => (None, authority),
    };
    let (host, port) = host_and_port(authority).map_err(wrong)?;
    let place = Destination::Host(host.to_owned(), port);
    Ok(Parts { user_info, place, authority: authority.to_owned(), target, length })
}

/// Returns true for a character that no URL has: in a text, a URL ends before it.
pub fn ends_url(c: char) -> bool {
    c.is_whitespace() || matches!(c, '"' | '\'' | '<' | '>')
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
            check_address(host)?;
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

/// Checks an IPv6 address. Only one that is local to a link has a zone, which names the link: `fe80::1%eth0`.
fn check_address(text: &str) -> Result<(), String> {
    let wrong = || format!("`{text}` is not an IPv6 address; write for example [::1]");
    let (address, zone) =
        text.split_once('%').map_or((text, None), |(address, zone)| (address, Some(zone)));
    let parsed: Ipv6Addr = address.parse().map_err(|_| wrong())?;
    let Some(zone) = zone else { return Ok(()) };
    let is_of_zone = |c: char| c.is_ascii_alphanumeric() || "-._~".contains(c);
    if zone.is_empty() || !zone.chars().all(is_of_zone) {
        return Err(wrong());
    }
    if !parsed.is_unicast_link_local() {
        return Err(format!("only an address of a link (fe80::…) has a zone; write [{address}]"));
    }
    // RFC 6874 escapes it; the resolver takes it as it is.
    match zone.strip_prefix("25").filter(|name| !name.is_empty()) {
        Some(name) => Err(format!("write its zone without an escape: [{address}%{name}]")),
        None => Ok(()),
    }
}

/// Returns the path of a socket, which is escaped in place of the host: `%2Frun%2Fa.sock`.
fn socket(escaped: &str) -> Result<String, String> {
    let socket = unescaped(escaped).filter(|socket| socket.starts_with('/'));
    socket.ok_or_else(|| {
        "it names no socket; write for example http+unix://%2Frun%2Fa.sock/path".to_owned()
    })
}

/// Replaces escapes: `%2F` becomes `/`.
pub fn unescaped(text: &str) -> Option<String> {
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
