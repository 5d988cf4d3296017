//! The requests that are sent, by kind. A new kind is a file here, and a row in the list of `kinds!`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use wire::http1::{check_field, check_fields, check_method};
use wire::url::{self, Scheme};

use super::{Command, HTTP, Parse, Texts};
pub use events::{EventMode, Events};
pub use foreign::Foreign;
pub(crate) use script::ARGUMENTS;

pub(super) mod events;
mod foreign;
mod mix;
mod request;
mod script;
mod ycsb;

#[cfg(test)]
mod tests;

/// Makes the sum of all kinds, and what reads it. A row has a kind, and the fields that no row above it has.
macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident($file:ident::$type:ident): $($field:ident: $of:ty),*;)*) => {
        /// The requests that are sent, all of one kind.
        #[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
        #[serde(try_from = "Written", untagged)]
        #[schemars(!try_from)]
        pub enum Workload {
            $($(#[$doc])* $kind($file::$type),)*
        }

        impl Workload {
            fn kind(&self) -> &dyn Kind {
                match self {
                    $(Workload::$kind(kind) => kind,)*
                }
            }
        }

        /// The kinds; where a workload has the keys of several, the last is taken for it.
        static KINDS: &[KindOf] = &[$($file::KIND),*];

        /// The fields of all kinds. They are read first, so that an error in one has its place; then all that are
        /// there are read again, as those of one kind.
        #[derive(Deserialize, Serialize)]
        #[serde(deny_unknown_fields)]
        struct Written {
            $($($field: Option<$of>,)*)*
        }
    };
}

kinds! {
    /// A single request that is repeated.
    Request(request::Request): get: String, path: String, method: String, headers: Headers, body: String,
        body_file: String, check: String;
    /// The weighted requests of a file.
    Mix(mix::Mix): mix: String, data: String;
    /// The requests of a Lua script.
    Script(script::Script): script: String, args: Vec<String>;
    /// YCSB's operations on a key-value store.
    Ycsb(ycsb::Ycsb): ycsb: String, properties: BTreeMap<String, String>;
    /// Events.
    Events(events::EventLoad): events: Events;
    /// The requests of another load generator.
    Foreign(foreign::Foreign): exec: Command, parse: Parse;
}

impl Workload {
    /// Returns the path that is appended to the URL of the endpoint.
    pub fn path(&self) -> Option<&str> {
        self.kind().path()
    }

    /// Returns what its requests speak.
    pub fn protocol(&self) -> Protocol {
        self.kind().protocol()
    }

    /// Returns true if its requests depend on the number of threads.
    pub fn has_threads(&self) -> bool {
        self.kind().has_threads()
    }

    /// Returns what it gives the generator, in the order of the options.
    pub fn set(&self) -> Vec<Set<'_>> {
        self.kind().set()
    }

    /// Returns the requests in a few words, for a plan.
    pub fn describe(&self) -> String {
        self.kind().describe()
    }

    pub fn events(&self) -> Option<&Events> {
        match self {
            Workload::Events(load) => Some(&load.events),
            _ => None,
        }
    }

    pub fn foreign(&self) -> Option<&Foreign> {
        match self {
            Workload::Foreign(foreign) => Some(foreign),
            _ => None,
        }
    }
}

/// The protocol of requests, which decides the URLs that they may be sent to.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Protocol {
    Http,
    /// That of a key-value store, which its URL names.
    Store,
    /// The one of another generator, which is not known.
    Foreign,
}

impl Protocol {
    /// Returns true if it is spoken at URLs of this scheme.
    pub fn is_at(self, scheme: &str) -> bool {
        match self {
            Protocol::Http => [HTTP, "https"].contains(&scheme),
            Protocol::Store => Scheme::STORES.iter().any(|store| store.name() == scheme),
            Protocol::Foreign => true,
        }
    }

    /// Fails for what is not a URL of a target, with the remedy.
    pub fn check(self, url: &str) -> Result<(), String> {
        match self {
            Protocol::Http => url::parse(url).map(drop),
            Protocol::Store => url::store(url).map(drop),
            Protocol::Foreign => url::server(url).map(drop),
        }
    }

    /// Returns the requests in words: `HTTP requests`
    pub fn requests(self) -> &'static str {
        match self {
            Protocol::Http => "HTTP requests",
            Protocol::Store => "operations to kv:// or redis://",
            Protocol::Foreign => "requests of another generator",
        }
    }
}

/// The words of each kind about itself.
trait Kind {
    fn path(&self) -> Option<&str>;
    fn protocol(&self) -> Protocol {
        Protocol::Http
    }
    fn has_threads(&self) -> bool {
        false
    }
    fn set(&self) -> Vec<Set<'_>>;
    fn describe(&self) -> String;
}

/// A kind as it is written.
pub(super) struct KindOf {
    /// The fields by which it is known.
    keys: &'static [&'static str],
    /// Its name in a message: `a script`
    name: &'static str,
    /// The fields that make one, for who wrote none: "`script: file.lua`"
    written: &'static str,
    fields: &'static [&'static str],
    /// The options that its fields may set, each with its field.
    pub(super) options: fn() -> Vec<(&'static str, &'static str)>,
    /// Returns why it cannot have the field of another kind, if there is more to say than that it is of
    /// another kind.
    refuses: fn(&str) -> Option<&'static str>,
    /// The remedies for its own fields in a workload of another kind.
    own: &'static [(&'static str, &'static str)],
    read: fn(Value) -> Result<Workload, String>,
}

/// An option of the generator, the field of the spec that sets it, and how.
struct Sets<T: 'static> {
    option: &'static str,
    field: &'static str,
    given: for<'a> fn(&'a T) -> Vec<Given<'a>>,
}

const fn sets<T>(
    option: &'static str,
    field: &'static str,
    given: for<'a> fn(&'a T) -> Vec<Given<'a>>,
) -> Sets<T> {
    Sets { option, field, given }
}

impl<T> Sets<T> {
    fn all<'a>(list: &[Sets<T>], kind: &'a T) -> Vec<Set<'a>> {
        let set =
            |of: &Sets<T>| Set { option: of.option, field: of.field, given: (of.given)(kind) };
        list.iter().map(set).filter(|set| !set.given.is_empty()).collect()
    }

    fn names(list: &[Sets<T>]) -> Vec<(&'static str, &'static str)> {
        list.iter().map(|of| (of.option, of.field)).collect()
    }
}

/// An option of the generator that a field sets, with its occurrences.
pub struct Set<'a> {
    pub option: &'static str,
    /// The path of the field: `workload.mix`
    pub field: &'static str,
    pub given: Vec<Given<'a>>,
}

/// One occurrence of an option.
pub enum Given<'a> {
    /// A text that may have variables and secrets.
    Text(&'a str),
    /// The value of a header field, a text too.
    Field(&'a str, &'a str),
    /// The value of a property, a name too.
    Property(&'a str, &'a str),
    /// The value of a property that is the path of a file, as `File`, whose content nobody else may see.
    Private(&'a str, &'a str),
    /// A text that may have variables.
    Name(&'a str),
    /// The path of a file, a name too; it is relative to the folder of the spec.
    File(&'a str),
    /// As it is.
    Plain(String),
}

impl<'a> Given<'a> {
    /// Returns the text as it is written, if it may have variables.
    pub fn text(&self) -> Option<&'a str> {
        match self {
            Given::Text(text)
            | Given::Field(_, text)
            | Given::Property(_, text)
            | Given::Private(_, text)
            | Given::Name(text)
            | Given::File(text) => Some(text),
            Given::Plain(_) => None,
        }
    }

    /// Returns true if a secret in it would be shown.
    pub fn is_name(&self) -> bool {
        matches!(self, Given::Name(_) | Given::File(_) | Given::Property(..) | Given::Private(..))
    }
}

fn text(text: &Option<String>) -> Vec<Given<'_>> {
    text.iter().map(|text| Given::Text(text)).collect()
}

fn name(text: &Option<String>) -> Vec<Given<'_>> {
    text.iter().map(|text| Given::Name(text)).collect()
}

fn file(path: &Option<String>) -> Vec<Given<'_>> {
    path.iter().map(|path| Given::File(path)).collect()
}

fn plain(value: Option<impl ToString>) -> Vec<Given<'static>> {
    value.iter().map(|value| Given::Plain(value.to_string())).collect()
}

/// The header fields of every request.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(try_from = "BTreeMap<String, Texts>")]
pub struct Headers(BTreeMap<String, Texts>);

impl Headers {
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn each(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0
            .iter()
            .flat_map(|(name, texts)| texts.0.iter().map(|text| (name.as_str(), text.as_str())))
    }

    fn given(&self) -> Vec<Given<'_>> {
        self.each().map(|(name, text)| Given::Field(name, text)).collect()
    }

    /// Checks the fields of requests that have bodies of their own.
    fn check(&self) -> Result<(), String> {
        check_fields(self.each(), None)
    }

    /// Checks the fields beside a body. What has a variable or is in a file is not known here: the generator
    /// checks it before anything is deployed.
    fn check_beside(&self, body: Option<&str>, is_in_file: bool) -> Result<(), String> {
        let is_known = |text: &str| !text.contains("${");
        let body = Some(body.unwrap_or_default()).filter(|body| !is_in_file && is_known(body));
        let is_length = |name: &str| name.eq_ignore_ascii_case("content-length");
        let fields = self
            .each()
            .filter(|(name, value)| is_known(value) && (body.is_some() || !is_length(name)));
        check_fields(fields, body.map(str::len))
    }
}

impl TryFrom<BTreeMap<String, Texts>> for Headers {
    type Error = String;
    fn try_from(fields: BTreeMap<String, Texts>) -> Result<Headers, String> {
        for (name, values) in &fields {
            values.0.iter().try_for_each(|value| check_field(name, value))?;
        }
        Ok(Headers(fields))
    }
}

/// Checks the parts of a single request.
fn check_request(
    method: &Option<String>,
    body: &Option<String>,
    body_file: &Option<String>,
) -> Result<(), String> {
    if body.is_some() && body_file.is_some() {
        return Err("`body` and `body_file` both set the body; remove one of them".to_owned());
    }
    match method {
        Some(method) if check_method(method).is_err() => {
            Err("a method is one word; write for example PUT".to_owned())
        }
        _ => Ok(()),
    }
}

impl TryFrom<Written> for Workload {
    type Error = String;
    fn try_from(written: Written) -> Result<Workload, String> {
        let Ok(Value::Object(mut fields)) = serde_json::to_value(written) else {
            unreachable!("a workload is a mapping of plain data")
        };
        fields.retain(|_, value| !value.is_null());
        let is_of = |kind: &&KindOf| kind.keys.iter().any(|key| fields.contains_key(*key));
        let Some(kind) = KINDS.iter().rev().find(is_of) else {
            let [kinds @ .., last] = KINDS else { unreachable!("there are kinds") };
            let kinds: Vec<&str> = kinds.iter().map(|kind| kind.written).collect();
            return Err(format!("a workload is {}, or {}", kinds.join(", "), last.written));
        };
        match fields.keys().find(|field| !kind.fields.contains(&field.as_str())) {
            Some(field) => Err(kind.contradiction(field)),
            None => (kind.read)(Value::Object(fields)),
        }
    }
}

impl KindOf {
    /// Returns why a workload of this kind cannot have the field of another one.
    fn contradiction(&self, field: &str) -> String {
        if let Some(why) = (self.refuses)(field) {
            return why.to_owned();
        }
        let of_another = KINDS.iter().find_map(|other| {
            let own = other.own.iter().find(|(own, _)| *own == field);
            let is_key = other.keys.contains(&field);
            let either = || {
                format!("a workload is either {} or {}; remove one of them", self.name, other.name)
            };
            own.map(|(_, why)| (*why).to_owned()).or_else(|| is_key.then(either))
        });
        of_another.unwrap_or_else(|| format!("{} has no `{field}`; remove it", self.name))
    }
}

/// Reads the fields of a kind, none of which is of another.
fn read<T: DeserializeOwned>(fields: Value) -> T {
    serde_json::from_value(fields).expect("each field was read, and is of this kind")
}

/// Returns the options that the fields of a workload may set, each once, with their fields.
pub(crate) fn options() -> Vec<(&'static str, &'static str)> {
    let mut all: Vec<(&str, &str)> = Vec::new();
    for kind in KINDS {
        for option in (kind.options)() {
            if !all.contains(&option) {
                all.push(option);
            }
        }
    }
    all
}

/// Returns the fields by which a kind is chosen, each with those that only other kinds have.
pub(super) fn choices() -> impl Iterator<Item = (&'static str, Vec<&'static str>)> {
    let all = || KINDS.iter().flat_map(|kind| kind.fields.iter().copied());
    KINDS.iter().flat_map(move |kind| {
        let others = move || all().filter(|field| !kind.fields.contains(field)).collect();
        kind.keys.iter().map(move |key| (*key, others()))
    })
}
