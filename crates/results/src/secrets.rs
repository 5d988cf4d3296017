//! Secrets. Texts hold references to them, such as `${env.TOKEN}`; their values are put in only where
//! a request is sent or a program is started. No value is ever written to a results directory, a
//! document or a message.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use base64::prelude::{BASE64_STANDARD, BASE64_STANDARD_NO_PAD};
use base64::{Engine, alphabet};
use wire::url::ends_url;

use crate::names;

mod line;
mod shown;
#[cfg(test)]
mod tests;
mod written;

pub use line::{line_without_plain, without_plain_in_line};
pub use shown::{url_shown, words};

/// Begins the name of a reference to a variable of the environment: `env.TOKEN`.
pub const ENV: &str = "env.";
/// Begins the name of a reference to a secret that was written plainly: `redacted.1`.
pub const REDACTED: &str = "redacted.";
/// Stands in place of a secret that cannot be referred to.
const HIDDEN: &str = "(redacted)";
/// The header fields whose values are secrets; others are known by their words.
const FIELDS: [&str; 6] =
    ["authorization", "cookie", "cookie2", "proxy-authorization", "set-cookie", "set-cookie2"];
/// The words in the names whose values are secrets, wherever the name is: of a header field, of a parameter of a URL,
/// of a field of a body.
const WORDS: [&str; 29] = [
    "token",
    "secret",
    "password",
    "passwd",
    "passphrase",
    "passcode",
    "pwd",
    "otp",
    "totp",
    "apikey",
    "authkey",
    "accesskey",
    "privatekey",
    "subscriptionkey",
    "sessionkey",
    "codeverifier",
    "credential",
    "jwt",
    "csrf",
    "xsrf",
    "sig",
    "signature",
    "sessionid",
    "jsessionid",
    "phpsessid",
    "authorization",
    "bearer",
    "hmac",
    "samlresponse",
];
/// The words that make a name one of a secret as its last word: a `user_session` is one, a `session_count` is not.
const LAST_WORDS: [&str; 9] =
    ["pass", "pw", "pin", "cvc", "cvv", "session", "sid", "assertion", "authentication"];
/// The names that are those of secrets in a URL alone: the usual one of an API key, the code of OAuth, and a private
/// key. Elsewhere they are mostly data.
const IN_URLS: [&str; 3] = ["key", "code", "private"];
/// The first words of credentials that are not secret themselves: the usual of IANA's registry of authentication
/// schemes, and what services use beside it.
const SCHEMES: [&str; 9] = [
    "basic",
    "bearer",
    "digest",
    "dpop",
    "hawk",
    "negotiate",
    "token",
    "apikey",
    "aws4-hmac-sha256",
];
/// The words that may follow `Bearer` in a sentence.
const BEHIND_BEARER: [&str; 4] = ["token", "tokens", "auth", "authentication"];
/// The name of a user that is shorter is no token.
const LEAST_TOKEN: usize = 16;
/// Shorter values are not looked for in texts: they may stand there by chance.
const LEAST_CHARACTERS: usize = 4;
/// Shorter lines of a value of several are those of its form, such as `"a": [`.
const LEAST_OF_A_LINE: usize = 10;

/// The values of secrets, by the names of their references.
#[derive(Clone, Default, Eq, PartialEq)]
pub struct Secrets {
    /// `None` if a variable of the environment is not set.
    values: BTreeMap<String, Option<String>>,
}

/// Shows the names only.
impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.values.keys()).finish()
    }
}

impl Secrets {
    /// Reads the JSON that `written` returns.
    pub fn read(text: &str) -> Result<Secrets, String> {
        let values: BTreeMap<String, String> = serde_json::from_str(text).map_err(|error| {
            // The message of the parser can contain a value.
            format!(
                "line {}, column {} is not as expected; write a JSON object such as \
                 {{\"env.TOKEN\": \"…\"}}",
                error.line(),
                error.column()
            )
        })?;
        Ok(Secrets {
            values: values.into_iter().map(|(name, value)| (name, Some(value))).collect(),
        })
    }

    /// Returns the values as JSON, for the program that needs them.
    pub fn written(&self) -> String {
        serde_json::to_string(&self.known().collect::<BTreeMap<_, _>>()).expect("it is plain data")
    }

    /// Adds the variables of the environment that a text refers to.
    pub fn find(&mut self, text: &str, environment: &dyn Fn(&str) -> Option<String>) {
        for name in references(text) {
            if let Some(variable) = name.strip_prefix(ENV) {
                self.values.entry(name.to_owned()).or_insert_with(|| environment(variable));
            }
        }
    }

    /// Sets the value of a reference, whatever the environment has.
    pub fn set(&mut self, name: &str, value: &str) {
        self.values.insert(name.to_owned(), Some(value.to_owned()));
    }

    /// Keeps a secret that was written plainly; returns the reference to put in its place. Equal
    /// values have one reference.
    pub fn keep(&mut self, value: &str) -> String {
        let of_value = |(name, kept): (&String, &Option<String>)| {
            (name.starts_with(REDACTED) && kept.as_deref() == Some(value)).then(|| name.clone())
        };
        let name = self.values.iter().find_map(of_value).unwrap_or_else(|| {
            let number = 1 + self.plain();
            format!("{REDACTED}{number}")
        });
        let reference = format!("${{{name}}}");
        self.values.insert(name, Some(value.to_owned()));
        reference
    }

    /// Returns the number of secrets that were written plainly.
    pub fn plain(&self) -> usize {
        self.values.keys().filter(|name| name.starts_with(REDACTED)).count()
    }

    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Returns the names of all references.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.values.keys().map(String::as_str)
    }

    /// Returns the names and values that are known.
    pub fn known(&self) -> impl Iterator<Item = (&str, &str)> {
        self.values.iter().filter_map(|(name, value)| Some((name.as_str(), value.as_deref()?)))
    }

    /// Returns those that are looked for in texts: without the white space around them, and of several lines, as a
    /// private key has, also each line, since programs print these one by one.
    fn findable(&self) -> impl Iterator<Item = (&str, &str)> {
        let parts = self.known().flat_map(|(name, value)| {
            let value = value.trim();
            let lines = value.lines().map(str::trim).filter(move |line| *line != value);
            let lines = lines.filter(|line| LEAST_OF_A_LINE <= line.chars().count());
            lines.chain([value]).map(move |part| (name, part))
        });
        parts.filter(|(_, part)| LEAST_CHARACTERS <= part.chars().count())
    }

    /// Returns the secrets with these names.
    #[must_use]
    pub fn only(&self, mut is_wanted: impl FnMut(&str) -> bool) -> Secrets {
        let values = self.values.iter().filter(|(name, _)| is_wanted(name));
        Secrets { values: values.map(|(name, value)| (name.clone(), value.clone())).collect() }
    }

    /// Returns the same names without their values.
    #[must_use]
    pub fn without_values(&self) -> Secrets {
        Secrets { values: self.values.keys().map(|name| (name.clone(), None)).collect() }
    }

    /// Returns the first reference of a text that has no value.
    pub fn missing<'a>(&self, text: &'a str) -> Option<&'a str> {
        references(text).find(|name| !matches!(self.values.get(*name), Some(Some(_))))
    }

    /// Returns a text with the values in place of their references. References without a value stay.
    #[must_use]
    pub fn reveal(&self, text: &str) -> String {
        self.reveal_as(text, &str::to_owned)
    }

    /// Returns a text with the values in place of their references, each in the form that the text
    /// needs.
    #[must_use]
    fn reveal_as(&self, text: &str, form: &dyn Fn(&str) -> String) -> String {
        let mut result = String::new();
        let mut rest = text;
        while let Some(at) = rest.find("${") {
            let (before, from) = rest.split_at(at);
            result += before;
            let value = name_at(from).and_then(|name| {
                let value = self.values.get(name)?.as_deref()?;
                Some((value, "${}".len() + name.len()))
            });
            rest = match value {
                Some((value, length)) => {
                    result += &form(value);
                    &from[length..]
                }
                None => {
                    result += "${";
                    &from["${".len()..]
                }
            };
        }
        result + rest
    }

    /// Returns a URL, or a path, with the values in place of their references: percent-encoded in its
    /// user information and behind its authority.
    #[must_use]
    pub fn reveal_in_url(&self, url: &str) -> String {
        let (scheme, rest) = match url.split_once("://") {
            Some((scheme, rest)) => (format!("{}://", self.reveal(scheme)), rest),
            None if url.starts_with('/') => return self.reveal_as(url, &escaped),
            None => return self.reveal(url),
        };
        let authority = authority_at(rest);
        let path = self.reveal_as(&rest[authority.len()..], &escaped);
        match authority.rsplit_once('@') {
            Some((user_info, host)) => {
                let user_info = self.reveal_as(user_info, &escaped);
                format!("{scheme}{user_info}@{}{path}", self.reveal(host))
            }
            None => format!("{scheme}{}{path}", self.reveal(authority)),
        }
    }

    /// Returns a JSON document as text with the values in place of their references.
    #[must_use]
    pub fn reveal_in_json(&self, text: &str) -> String {
        self.reveal_as(text, &in_json)
    }

    /// Returns a text of another program, for people: with references in place of the values, and
    /// without other secrets that can be recognised.
    #[must_use]
    pub fn redact(&self, text: &str) -> String {
        without_plain(&self.hide(text))
    }

    /// Returns a text of another program with references in place of the values.
    #[must_use]
    pub fn hide(&self, text: &str) -> String {
        let text = self.without_encoded(text);
        let values: Vec<(char, &str, &str)> = self
            .findable()
            .filter_map(|(name, value)| Some((value.chars().next()?, value, name)))
            .collect();
        let mut result = String::new();
        let (mut done, mut at) = (0, 0);
        while at < text.len() {
            let byte = text.as_bytes()[at];
            let here = values.iter().filter(|(first, ..)| written::may_begin(byte, *first));
            let here = here.filter_map(|(_, value, name)| {
                Some((written::length_at(text.get(at..)?, value)?, *name))
            });
            // A value may be a part of another one.
            at += match here.reduce(|best, one| if best.0 < one.0 { one } else { best }) {
                Some((length, name)) => {
                    result += &format!("{}${{{name}}}", &text[done..at]);
                    done = at + length;
                    length
                }
                None => 1,
            };
        }
        result + &text[done..]
    }

    /// Returns a text without the words in base 64 that have a value in them, as the credentials of `Basic` have.
    fn without_encoded(&self, text: &str) -> String {
        let forms: Vec<String> =
            self.findable().flat_map(|(_, value)| in_base64(value.as_bytes())).collect();
        let found = forms.iter().flat_map(|form| text.match_indices(form.as_str()));
        let mut places: Vec<usize> = found.map(|(at, _)| at).collect();
        places.sort_unstable();
        let (mut result, mut end) = (String::new(), 0);
        for at in places {
            if at < end {
                continue;
            }
            result += text[end..at].trim_end_matches(is_of_base64);
            result += HIDDEN;
            end = text.len() - text[at..].trim_start_matches(is_of_base64).len();
        }
        result + &text[end..]
    }
}

/// Returns what every text in base 64, of the usual or of the URL-safe alphabet, has in it if it encodes
/// bytes with this value among them: the value may begin with any of the three bytes of a group, and
/// shares the characters at its ends with its neighbours.
fn in_base64(value: &[u8]) -> impl Iterator<Item = String> {
    (0..3).flat_map(move |before| {
        let bytes = [&[0; 3][..before], value].concat();
        let text = BASE64_STANDARD_NO_PAD.encode(&bytes);
        let own = &text[(before * 8).div_ceil(6)..bytes.len() * 8 / 6];
        [own.to_owned(), own.replace('+', "-").replace('/', "_")]
    })
}

/// Base 64 with or without its padding; what a service echoes may have bits behind its last byte.
const ANY_BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

fn is_of_base64(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '-' | '_' | '=')
}

/// Returns the names of the references in a text, such as `env.TOKEN`.
pub fn references(text: &str) -> impl Iterator<Item = &str> {
    text.match_indices("${").filter_map(|(at, _)| name_at(&text[at..]))
}

/// Returns the first name in a text that stands there as that of a variable, and is not one of a reference: `TOKEN` of
/// `${TOKEN}`. Where nothing replaces it, it would be sent as it is written.
pub fn unknown_in(text: &str) -> Option<&str> {
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    let begins = |c: char| c.is_ascii_alphabetic() || c == '_';
    let names = text.split("${").skip(1).filter_map(|behind| Some(behind.split_once('}')?.0));
    let mut names = names.filter(|name| name.starts_with(begins) && name.chars().all(is_of_name));
    names.find(|name| !is_reference(name))
}

/// Returns another name as that of a variable of the environment: `X-Api-Key` as `X_API_KEY`.
pub fn variable_of(name: &str) -> String {
    let in_name = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' };
    name.chars().map(in_name).collect()
}

/// Returns a name, with a number behind it if it is taken: `TOKEN`, `TOKEN_2`.
pub fn free_name(name: &str, is_free: impl Fn(&str) -> bool) -> String {
    names::free(name.to_owned(), |number| format!("{name}_{number}"), is_free)
}

/// Returns the name of the reference that a text begins with.
fn name_at(text: &str) -> Option<&str> {
    let (name, _) = text.strip_prefix("${")?.split_once('}')?;
    is_reference(name).then_some(name)
}

/// Returns true for the name of a reference: `env.` with the name of a variable, or `redacted.` with
/// a number.
pub fn is_reference(name: &str) -> bool {
    let is_of = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let is_variable = |name: &str| {
        name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') && name.chars().all(is_of)
    };
    let is_number = |number: &str| number.parse::<u32>().is_ok();
    name.strip_prefix(ENV).is_some_and(is_variable)
        || name.strip_prefix(REDACTED).is_some_and(is_number)
}

/// Returns true for the name of a header field, or of a field of a body, whose value is a secret: one with a word such
/// as `token`, also at its end (`csrftoken`), or two such as `api_key`; with the word `auth`, or `session` as the last.
pub fn is_secret_field(name: &str) -> bool {
    let words = words_of(name);
    let pairs = words.windows(2).map(|pair| pair.concat());
    // Short ones end other words, too.
    let ends = |word: &str| WORDS.iter().any(|end| 5 <= end.len() && word.ends_with(end));
    let one = |word: &String| word == "auth" || WORDS.contains(&word.as_str()) || ends(word);
    FIELDS.iter().any(|field| field.eq_ignore_ascii_case(name))
        || words.iter().any(one)
        // An option of a program, such as `--pin: …` in a message, is not a field.
        || !name.starts_with('-') && words.last().is_some_and(|last| LAST_WORDS.contains(&last.as_str()))
        || pairs.into_iter().any(|pair| WORDS.contains(&pair.as_str()))
}

/// Returns true for the name of a parameter of a URL whose value is a secret, also for a percent-encoded one: a
/// server decodes it.
pub fn is_secret_parameter(name: &str) -> bool {
    let name = String::from_utf8_lossy(&unescaped(name)).into_owned();
    is_secret_field(&name) || IN_URLS.iter().any(|known| known.eq_ignore_ascii_case(&name))
}

/// Returns true for a named value that is a secret: by its name, or by its looks.
pub fn is_secret(name: &str, value: &str) -> bool {
    is_secret_field(name) || is_in(value)
}

/// Returns true if a secret can be recognised in a text, whatever its name is: credentials, a JSON Web Token, or a
/// field with the name of one, as in `login(password: "…")`.
pub fn is_in(text: &str) -> bool {
    without_plain(text) != text || has_web_token(text) || has_field(text)
}

/// Returns true for a text with a JSON Web Token (RFC 7519): its first part is an object in base 64.
pub fn has_web_token(text: &str) -> bool {
    let ends = |c: char| !(c.is_ascii_alphanumeric() || "-_.".contains(c));
    text.split(ends).any(|word| word.starts_with("eyJ") && word.contains('.'))
}

fn has_field(text: &str) -> bool {
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
    let is_around = |c: char| c.is_whitespace() || "\"'\\".contains(c);
    text.match_indices([':', '=', '>']).any(|(at, _)| {
        let before = text[..at].trim_end_matches(is_around);
        let name = &before[before.trim_end_matches(is_of_name).len()..];
        let behind = text[at + 1..].trim_start_matches(is_around);
        is_secret_field(name) && !behind.is_empty() && !behind.starts_with("${")
    })
}

/// Returns the words of a name such as `access_token`, `Access-Token` or `accessToken`, in small letters.
fn words_of(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_small = false;
    for c in name.chars() {
        if !c.is_ascii_alphanumeric() || c.is_ascii_uppercase() && was_small {
            words.push(String::new());
        }
        let word = words.last_mut().expect("there is a first word");
        word.extend(Some(c.to_ascii_lowercase()).filter(char::is_ascii_alphanumeric));
        was_small = c.is_ascii_lowercase();
    }
    words
}

/// A secret as it is found in a text: its length there, and its value.
type Found<'a> = (usize, Cow<'a, str>);

/// Finds a value whose characters stand for themselves in a URL, and so anywhere.
fn plain(value: &str) -> Found<'_> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-._~".contains(c);
    if value.chars().all(is_plain) { (value.len(), Cow::Borrowed(value)) } else { (0, "".into()) }
}

/// Finds a value of a URL, where it may be percent-encoded, as it is put there again. A `+` is itself for some services
/// and a blank for others, and braces are those of placeholders.
fn in_url(value: &str) -> Found<'_> {
    if value.contains(['+', '{', '}']) { (0, "".into()) } else { decoded(value) }
}

/// Finds a value that is percent-encoded.
fn decoded(value: &str) -> Found<'_> {
    (value.len(), String::from_utf8(unescaped(value)).map_or(Cow::Borrowed(value), Cow::Owned))
}

fn as_written(value: &str) -> Found<'_> {
    (value.len(), Cow::Borrowed(value))
}

/// Finds the beginning of a text that may be a value, also a percent-encoded one or one in base 64. In a message a
/// URL stands between other characters: `http://h/?token=…: no address`.
fn in_message(text: &str) -> Found<'_> {
    let is_of_value = |c: char| c.is_ascii_alphanumeric() || "-._~%+/=!*@".contains(c);
    let length = text.find(|c| !is_of_value(c)).unwrap_or(text.len());
    (length, Cow::Borrowed(&text[..length]))
}

/// Returns a text with `kept` in place of the secret parameters in it, such as `?api_key=…`, as far as `find` finds
/// their values; `kept` gets the name, too.
fn parameters_kept(
    text: &str,
    find: fn(&str) -> Found<'_>,
    kept: &mut dyn FnMut(&str, &str) -> String,
) -> String {
    let mut result = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(['?', '&', ';', '#']) {
        let (before, behind) = rest.split_at(at + 1);
        result += before;
        rest = behind;
        let ends = |c: char| ends_url(c) || matches!(c, '&' | '#' | '?' | ';');
        let parameter = &behind[..behind.find(ends).unwrap_or(behind.len())];
        let Some((name, written)) = parameter.split_once('=') else { continue };
        // Such a one says yes or no: `private=true`.
        let is_secret = is_secret_parameter(name) && !matches!(written, "true" | "false");
        let (length, value) = find(written);
        if is_secret && LEAST_CHARACTERS <= value.chars().count() {
            result += &format!("{name}={}", kept(name, &value));
            rest = &behind[name.len() + "=".len() + length..];
        }
    }
    result + rest
}

/// Returns the value of such a field with `kept` in place of what is secret in it: the credentials
/// behind the scheme (`Bearer …`), and the values of cookies.
pub fn field_kept(name: &str, value: &str, kept: &mut dyn FnMut(&str) -> String) -> String {
    // What has references says itself what is secret in it.
    let stays = |value: &str| value.is_empty() || value == HIDDEN || value.contains("${");
    let mut kept = |value: &str| if stays(value) { value.to_owned() } else { kept(value) };
    if name.to_ascii_lowercase().trim_end_matches('2').ends_with("cookie") {
        let cookies = value.split(';').map(|cookie| match cookie.split_once('=') {
            Some((name, value)) => format!("{name}={}", kept(value)),
            None => kept(cookie),
        });
        return cookies.collect::<Vec<_>>().join(";");
    }
    if stays(value) {
        return value.to_owned();
    }
    let is_scheme = |word: &str| SCHEMES.iter().any(|scheme| scheme.eq_ignore_ascii_case(word));
    match value.trim().split_once(' ') {
        Some((scheme, credentials)) if is_scheme(scheme) => {
            format!("{scheme} {}", kept(credentials.trim()))
        }
        _ => kept(value.trim()),
    }
}

/// Names the part of a header field that is a secret, as `field_kept` takes it out. Whoever sets its variable must not
/// repeat what stands before it.
pub fn part_of_field(name: &str, value: &str, secret: &str) -> String {
    let before = value.split(secret).next().unwrap_or_default();
    match before.rsplit(';').next().unwrap_or_default().trim_start() {
        "" => format!("the header field {name}"),
        before => format!("what follows `{before}` in the header field {name}"),
    }
}

/// Returns a text with `kept` in place of the password of each URL in it, and of secret parameters. Of parameters
/// only those that are the same when a value takes the place of its reference again.
pub fn passwords_kept(text: &str, kept: &mut dyn FnMut(&str) -> String) -> String {
    let text = parameters_kept(text, plain, &mut |_, value| kept(value));
    passwords_of_urls_kept(&text, as_written, kept)
}

/// Returns a URL, or a path with its query, with `kept` in place of its password and its secret parameters, whose names
/// it gets. Each value is the one that `reveal_in_url` puts there again: without percent-encoding.
pub fn url_kept(url: &str, kept: &mut dyn FnMut(Option<&str>, &str) -> String) -> String {
    let url = parameters_kept(url, in_url, &mut |name, value| kept(Some(name), value));
    passwords_of_urls_kept(&url, decoded, &mut |value| kept(None, value))
}

fn passwords_of_urls_kept(
    text: &str,
    find: fn(&str) -> Found<'_>,
    kept: &mut dyn FnMut(&str) -> String,
) -> String {
    let mut result = String::new();
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once("://") {
        result += before;
        result += "://";
        let mut authority = authority_at(behind);
        let word = &behind[..behind.find(ends_url).unwrap_or(behind.len())];
        if wire::url::ends_in_password(authority, &word[authority.len()..])
            && let Some(at) = word.rfind('@')
        {
            let host = authority_at(&word[at..]);
            authority = &word[..at + host.len()];
        }
        rest = &behind[authority.len()..];
        let mut kept = |part: &str| match part {
            "" | HIDDEN => part.to_owned(),
            _ if part.contains("${") => part.to_owned(),
            _ => kept(&find(part).1),
        };
        result += &match authority.rsplit_once('@') {
            None => authority.to_owned(),
            Some((user_info, host)) => {
                let (user, password) = match user_info.split_once(':') {
                    Some((user, password)) => (user, format!(":{}", kept(password))),
                    None => (user_info, String::new()),
                };
                let is_secret = is_token(user) || password.is_empty() && LEAST_TOKEN <= user.len();
                let user = if is_secret { kept(user) } else { user.to_owned() };
                format!("{user}{password}@{host}")
            }
        };
    }
    result + rest
}

/// Returns true for the name of a user that seems to be a token: some services take one in its place.
fn is_token(user: &str) -> bool {
    LEAST_TOKEN <= user.len()
        && user.contains(|c: char| c.is_ascii_digit())
        && user.contains(|c: char| c.is_ascii_alphabetic())
}

/// Returns the authority with which a text begins. A reference in it may contain any character.
fn authority_at(text: &str) -> &str {
    let ends = |c: char| ends_url(c) || matches!(c, '/' | '?' | '#');
    &text[..text.find(ends).unwrap_or(text.len())]
}

/// Returns a text without the secrets that can be recognised by themselves: the passwords of URLs, the values of
/// secret parameters, credentials behind their scheme, and the values of secret header fields, as they stand in a
/// request, in JSON and on a command line.
#[must_use]
pub fn without_plain(text: &str) -> String {
    without_all(text, without_fields)
}

/// Returns a text without these secrets, of which those in header fields are found as its kind writes them.
fn without_all(text: &str, without_fields: impl FnOnce(&str) -> String) -> String {
    let mut hidden = |_: &str| HIDDEN.to_owned();
    let text = parameters_kept(text, in_message, &mut |_, value| hidden(value));
    let text = passwords_of_urls_kept(&text, as_written, &mut hidden);
    without_credentials(&without_fields(&text))
}

fn without_fields(text: &str) -> String {
    let lower = text.to_ascii_lowercase();
    let mut result = String::new();
    let mut done = 0;
    while let Some((at, value)) = field_at(&lower, done) {
        let name = &text[at.0..at.1];
        result += &text[done..value.0];
        result += &field_kept(name, &text[value.0..value.1], &mut |_| HIDDEN.to_owned());
        done = value.1;
    }
    result + &text[done..]
}

/// Returns a text without the credentials that follow their scheme: `Bearer …` and `Basic …`.
fn without_credentials(text: &str) -> String {
    let lower = text.to_ascii_lowercase();
    let mut result = String::new();
    let mut done = 0;
    let schemes = ["bearer ", "basic "].map(|scheme| lower.match_indices(scheme));
    let mut places: Vec<(usize, &str)> = schemes.into_iter().flatten().collect();
    places.sort_unstable();
    for (at, scheme) in places {
        let begin = at + scheme.len();
        let (_, value) = in_message(&text[begin..]);
        let is_secret = match scheme {
            "basic " => {
                let usual = value.trim_end_matches('=').replace('-', "+").replace('_', "/");
                let decoded = ANY_BASE64.decode(usual);
                decoded.is_ok_and(|decoded| decoded.contains(&b':'))
            }
            _ => {
                let word = value.trim_end_matches('.');
                LEAST_CHARACTERS <= word.len() && !BEHIND_BEARER.contains(&word)
            }
        };
        if is_secret && done <= at && !lower[..at].ends_with(|c: char| c.is_ascii_alphanumeric()) {
            result += &text[done..begin];
            result += HIDDEN;
            done = begin + value.len();
        }
    }
    result + &text[done..]
}

/// Finds the first secret header field behind a place; returns the places of its name and its value.
fn field_at(lower: &str, from: usize) -> Option<((usize, usize), (usize, usize))> {
    let (name, value) = name_of_field_at(lower, from, &[':'])?;
    let behind = lower[value..].trim_start_matches(['"', '\'']);
    let value = lower.len() - behind.len();
    let length = behind.find(['"', '\'', '\r', '\n']).unwrap_or(behind.len());
    Some((name, (value, value + length)))
}

/// Finds the first name of a secret header field behind a place, with one of these characters behind it; returns the
/// place of the name, and where its value begins. A single word such as `token` before a colon is mostly one of a
/// sentence.
fn name_of_field_at(
    lower: &str,
    from: usize,
    behind_names: &[char],
) -> Option<((usize, usize), usize)> {
    let ends = lower[from..].match_indices(behind_names).map(|(offset, _)| from + offset);
    ends.into_iter().find_map(|end_of_name| {
        let before = lower[from..end_of_name].trim_end_matches(' ').trim_end_matches(['"', '\'']);
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        let name = &before[before.trim_end_matches(is_part).len()..];
        let is_field = name.contains(['-', '_']) && is_secret_field(name) || FIELDS.contains(&name);
        let end = from + before.len();
        is_field.then(|| {
            let behind = lower[end..].trim_start_matches(['"', '\'']).trim_start_matches(' ');
            let behind = behind.trim_start_matches(behind_names).trim_start_matches(' ');
            ((end - name.len(), end), lower.len() - behind.len())
        })
    })
}

/// Returns the value of `Authorization` for the user information of a URL, `user:password`, in which
/// `%40` stands for `@`. Without a colon the password is empty, as some services take a token for a name.
pub fn basic(user_info: &str) -> String {
    let mut credentials = unescaped(user_info);
    if !user_info.contains(':') {
        credentials.push(b':');
    }
    format!("Basic {}", BASE64_STANDARD.encode(credentials))
}

/// Returns the bytes of a percent-encoded text; a `%` without two digits stands for itself.
pub fn unescaped(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let [first, behind @ ..] = rest {
        let digit = |at: usize| behind.get(at).and_then(|byte| char::from(*byte).to_digit(16));
        match (first, digit(0), digit(1)) {
            (b'%', Some(high), Some(low)) => {
                bytes.push((high * 16 + low) as u8);
                rest = &behind[2..];
            }
            _ => {
                bytes.push(*first);
                rest = behind;
            }
        }
    }
    bytes
}

/// Returns a text as it stands between the quotes of JSON.
fn in_json(text: &str) -> String {
    let quoted = serde_json::to_string(text).expect("it is a text");
    quoted[1..quoted.len() - 1].to_owned()
}

/// Returns a text percent-encoded, as it stands in a URL.
fn escaped(text: &str) -> String {
    let byte = |byte: u8| match byte {
        b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' | b'-' | b'.' | b'_' | b'~' => {
            char::from(byte).to_string()
        }
        byte => format!("%{byte:02X}"),
    };
    text.bytes().map(byte).collect()
}
