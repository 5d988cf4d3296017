//! The targets of requests: what a source says, so that neither a placeholder of a mix nor a reference to a secret
//! comes from it.

use results::secrets::is_secret_parameter;

use crate::references::References;
use crate::secret;
use crate::words::one_line;

/// The longest target that is taken.
pub(crate) const MOST: usize = 4 << 10;

/// Appends a value so that it is one part of a path or a query.
pub(crate) fn encode(value: &str, target: &mut String) {
    for byte in value.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                target.push(char::from(byte));
            }
            byte => target.push_str(&format!("%{byte:02X}")),
        }
    }
}

/// Returns a path with its query as it is sent: what is not allowed there is encoded, and braces are.
pub(crate) fn plain(text: &str) -> String {
    let text = text.split('#').next().unwrap_or_default();
    let mut target = String::new();
    for c in text.chars() {
        let stays = c.is_ascii_graphic() && !r#"{}"<>\^`|$"#.contains(c);
        match stays {
            true => target.push(c),
            false => encode(c.encode_utf8(&mut [0; 4]), &mut target),
        }
    }
    target
}

/// Returns a target with references in place of the values of its secret parameters and of the tokens in its path, or
/// `None` if another secret can be recognised in it.
pub(crate) fn without_secrets(target: &str, references: &mut References) -> Option<String> {
    let (path, mut rest) = target.split_at(target.find(['?', '&', ';']).unwrap_or(target.len()));
    let mut result = without_tokens(path, references);
    while let Some(at) = rest.find(['?', '&', ';']) {
        let (before, behind) = rest.split_at(at + 1);
        result += before;
        let parameter = &behind[..behind.find(['?', '&', ';', '/']).unwrap_or(behind.len())];
        rest = &behind[parameter.len()..];
        match parameter.split_once('=') {
            Some((name, value))
                if !value.is_empty() && (is_secret_parameter(name) || secret::is_in(value)) =>
            {
                let of = format!("the parameter {} of a URL", one_line(name));
                result += &format!("{name}={}", references.to(&format!("QUERY_{name}"), &of));
            }
            _ => result += parameter,
        }
    }
    result += rest;
    (!secret::is_in(&result)).then_some(result)
}

/// Returns a path with references in place of its tokens, each with the name of the part before it.
fn without_tokens(path: &str, references: &mut References) -> String {
    let mut before = "";
    let part = |part| {
        let name = std::mem::replace(&mut before, part);
        match secret::is_token(part) {
            true => {
                let of = format!("the token behind {} in a path", one_line(name));
                references.to(&format!("PATH_{name}"), &of)
            }
            false => part.to_owned(),
        }
    };
    path.split('/').map(part).collect::<Vec<String>>().join("/")
}

/// Returns the path of a target as a name: with `*` in place of its secrets.
pub(crate) fn name(target: &str) -> String {
    let part = |part: &str| if part.starts_with("${") { "*".to_owned() } else { part.to_owned() };
    path(target).split('/').map(part).collect::<Vec<String>>().join("/")
}

/// Returns the path of a target.
pub(crate) fn path(target: &str) -> &str {
    target.split('?').next().unwrap_or(target)
}

/// Returns true for a path of a file that is a part of a page.
pub(crate) fn is_file(path: &str) -> bool {
    const ENDINGS: [&str; 18] = [
        "avif", "bmp", "css", "eot", "gif", "ico", "jpeg", "jpg", "js", "map", "mjs", "otf", "png",
        "svg", "ttf", "webp", "woff", "woff2",
    ];
    let name = path.rsplit('/').next().unwrap_or_default();
    name.rsplit_once('.')
        .is_some_and(|(_, ending)| ENDINGS.iter().any(|known| known.eq_ignore_ascii_case(ending)))
}
