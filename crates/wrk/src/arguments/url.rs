//! A rough check of URLs on these command lines; they are parsed exactly before connecting.

/// True for a scheme and a host, as the originals require; a port must be a number.
pub(super) fn is_url(word: &str) -> bool {
    let Some((scheme, rest)) = word.split_once("://") else { return false };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host_and_port = authority.rsplit('@').next().unwrap_or_default();
    let (host, port) = match host_and_port.rsplit_once(':') {
        // A colon inside of brackets belongs to an address.
        Some((host, port)) if !port.contains(']') => (host, Some(port)),
        _ => (host_and_port, None),
    };
    let is_scheme = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
    scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.chars().all(is_scheme)
        && !host.is_empty()
        && port.is_none_or(|port| port.parse::<u16>().is_ok())
        && !word.contains(|c: char| c.is_whitespace() || c.is_control())
}
