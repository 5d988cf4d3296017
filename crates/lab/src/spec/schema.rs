//! The JSON Schema of an experiment file, by which editors complete and check it. It is derived from
//! the types that read the file, and their comments are its descriptions.
//!
//! It accepts every file that the reader accepts, apart from tags of YAML, from choices that are
//! written as a mapping with nothing in it (`backend: {local: }`), and from fields of another kind of
//! workload or load with nothing in them (`{get: /, script: }`). The reader knows more rules, above
//! all those between fields.

use std::borrow::Cow;
use std::net::IpAddr;

use measure::{Bytes, Nanos, Rate, Share};
use results::Metric;
use results::doctor::Level as Strictness;
use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value, json};

use super::connections::WrittenPerRate;
use super::load::WrittenShare;
use super::questions::{OF_A_LEVEL, OF_A_SEARCH, WrittenLevel};
use super::search::WrittenProbe;
use super::{
    Arrivals, AtLeastOne, Connections, Count, Cpus, Growth, MemoryLimit, Name, Named, Offered,
    Pattern, Pin, Port, Scheme, Shape, Spec, Start, Statuses, Texts, Think, TlsVersion, Written,
};

#[cfg(test)]
pub(super) mod tests;

/// The definitions that are made of others.
const PROFILE: &str = "Profile";
const NAMED_SEARCH: &str = "NamedSearch";

/// Returns the JSON Schema of an experiment file.
pub fn schema() -> Value {
    let settings = SchemaSettings::draft2020_12().with_transform(RecursiveTransform(as_it_is_read));
    let mut schema = settings.into_generator().into_root_schema_for::<Spec>().to_value();
    // Editors would show it above each field.
    schema.as_object_mut().expect("it is that of an object").shift_remove("title");

    let mut definitions = schema["$defs"].as_object().expect("a spec has types of its own").clone();
    part_loads(&mut definitions);
    let mut patches = Patches { of: &definitions, made: Map::new() };
    let mut profile = patches.patch(&schema);
    for of_root in ["$schema", "$defs"] {
        profile.as_object_mut().expect("it is that of an object").shift_remove(of_root);
    }
    let search = patches.patch(&definitions["Search"]);
    let named_search = named_search(&search, &profile);
    profile["description"] = json!(
        "A patch of this file: its fields replace those of the file, and `null` removes one."
    );

    let mut all = definitions.clone();
    all.extend(patches.made);
    all.insert(PROFILE.to_owned(), profile);
    all.insert(NAMED_SEARCH.to_owned(), named_search);
    all.sort_keys();
    schema["$defs"] = Value::Object(all);
    schema
}

/// Makes a definition of each kind of load, with the fields that all of them have beside its own: an editor offers
/// those of one kind.
fn part_loads(definitions: &mut Map<String, Value>) {
    let load = definitions["Load"].take();
    let common = load["properties"].as_object().expect("a load has fields");
    let mut kinds = Vec::new();
    for kind in load["oneOf"].as_array().expect("a load is of a kind") {
        let mut kind = kind.clone();
        let name = kind["title"].as_str().expect("each kind has a name").to_owned();
        kinds.push(json!({"$ref": format!("#/$defs/{name}"), "description": kind["description"]}));
        kind["additionalProperties"] = json!(false);
        let fields = kind["properties"].as_object_mut().expect("a kind has fields");
        fields["model"]["description"] = json!("The model: what decides when requests start.");
        fields.extend(common.clone());
        definitions.insert(name, kind);
    }
    definitions["Load"] = json!({"description": load["description"], "anyOf": kinds});
}

/// The forms of a number in quotes, as YAML writes it.
const NUMBER: &str = r"^\s*[-+]?[0-9.][-+0-9A-Fa-f_.xo]*\s*$";
const FLAG: &str = r"^\s*([Tt][Rr][Uu][Ee]|[Ff][Aa][Ll][Ss][Ee])\s*$";

/// Widens a schema to what the reader of YAML accepts: a text may be a number, a number may be in
/// quotes, and nothing is an empty list or mapping. Only plain values are kept as defaults: editors
/// would insert the others.
fn as_it_is_read(schema: &mut Schema) {
    let Some(schema) = schema.as_object_mut() else { return };
    schema.remove("format");
    if schema.get("default").is_some_and(|default| !is_plain(default)) {
        schema.remove("default");
    }
    if let Some(Value::String(text)) = schema.get_mut("description") {
        let paragraphs = text.split("\n\n").map(|paragraph| paragraph.replace('\n', " "));
        *text = paragraphs.collect::<Vec<_>>().join("\n\n");
    }
    if ["enum", "const"].iter().any(|key| schema.contains_key(*key)) {
        return;
    }
    let mut types = types(schema);
    let is = |wanted: &str| types.iter().any(|known| known == wanted);
    let (also, pattern): (&[&str], Option<&str>) = if is("string") {
        // One with a pattern says itself whether it may be a number.
        if schema.contains_key("pattern") { (&[], None) } else { (&["number", "boolean"], None) }
    } else if is("integer") || is("number") {
        (&["string"], Some(NUMBER))
    } else if is("boolean") {
        (&["string"], Some(FLAG))
    } else if (is("array") || is("object")) && !schema.contains_key("required") {
        (&["null"], None)
    } else {
        (&[], None)
    };
    let also: Vec<Value> = also.iter().filter(|also| !is(also)).map(|also| json!(also)).collect();
    if !also.is_empty() {
        types.extend(also);
        schema.insert("type".to_owned(), json!(types));
    }
    if let Some(pattern) = pattern {
        schema.insert("pattern".to_owned(), json!(pattern));
    }
    if let Some(remedy) = remedy(schema) {
        // The YAML language server shows this instead of the pattern.
        schema.insert("patternErrorMessage".to_owned(), json!(remedy));
    }
}

/// Returns what to write where the pattern of a schema does not match.
fn remedy(schema: &Map<String, Value>) -> Option<String> {
    match (schema.get("pattern")?.as_str()?, schema.get("examples")) {
        (_, Some(Value::Array(examples))) => {
            let word = |example: &Value| match example {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            let examples: Vec<String> = examples.iter().map(word).collect();
            Some(format!("write for example {}", examples.join(" or ")))
        }
        (NUMBER, None) => Some("write a number".to_owned()),
        (FLAG, None) => Some("write true or false".to_owned()),
        _ => None,
    }
}

fn is_plain(value: &Value) -> bool {
    matches!(value, Value::Bool(_) | Value::Number(_) | Value::String(_))
}

/// Returns the `type` of a schema as a list; empty if it has none.
fn types(schema: &Map<String, Value>) -> Vec<Value> {
    match schema.get("type") {
        None => Vec::new(),
        Some(Value::Array(types)) => types.clone(),
        Some(one) => vec![one.clone()],
    }
}

/// Makes the schemas of patches (RFC 7386) of what other schemas accept: a patch needs no field, and
/// `null` removes one. A list is replaced as a whole.
struct Patches<'a> {
    of: &'a Map<String, Value>,
    /// The definitions of patches that differ from what they change.
    made: Map<String, Value>,
}

impl Patches<'_> {
    fn patch(&mut self, schema: &Value) -> Value {
        let Value::Object(schema) = schema else { return schema.clone() };
        let mut patch = Map::new();
        for (key, value) in schema {
            let value = match (key.as_str(), value) {
                ("required" | "default", _) => continue,
                ("$ref", Value::String(path)) => json!(self.reference(path)),
                ("properties", Value::Object(fields)) => {
                    let field =
                        |(name, of): (&String, &Value)| (name.clone(), or_null(self.patch(of)));
                    Value::Object(fields.iter().map(field).collect())
                }
                ("additionalProperties", Value::Object(_)) => or_null(self.patch(value)),
                ("anyOf", Value::Array(choices)) if let Some(fields) = self.fields(choices) => {
                    // A patch may remove the fields of one choice and set those of another.
                    let all = json!({
                        "type": "object", "properties": fields, "additionalProperties": false
                    });
                    let Value::Object(all) = self.patch(&all) else { continue };
                    patch.extend(all);
                    continue;
                }
                ("anyOf" | "oneOf", Value::Array(choices)) => {
                    // Without required fields, more than one choice may fit.
                    let choices: Vec<Value> =
                        choices.iter().map(|choice| self.patch(choice)).collect();
                    patch.insert("anyOf".to_owned(), json!(choices));
                    continue;
                }
                _ => value.clone(),
            };
            patch.insert(key.clone(), value);
        }
        Value::Object(patch)
    }

    /// Returns the fields of all choices, if each is a mapping with fields.
    fn fields(&self, choices: &[Value]) -> Option<Map<String, Value>> {
        let mut all = Map::new();
        for choice in choices {
            let name = choice["$ref"].as_str()?.rsplit('/').next()?;
            let fields = self.of.get(name)?["properties"].as_object()?;
            for (field, of) in fields {
                let known = all.entry(field).or_insert_with(|| of.clone());
                if known["const"] != of["const"] {
                    *known = json!({"description": of["description"], "anyOf": [known, of]});
                }
            }
        }
        Some(all)
    }

    /// Returns the path of the definition of a patch; if it is the same as that at `path`, `path`.
    fn reference(&mut self, path: &str) -> String {
        let name = path.rsplit('/').next().unwrap_or(path);
        let Some(definition) = self.of.get(name) else { return path.to_owned() };
        let patch = self.patch(definition);
        if patch == *definition {
            return path.to_owned();
        }
        let name = format!("{name}Patch");
        let path = format!("#/$defs/{name}");
        self.made.insert(name, patch);
        path
    }
}

/// Returns a schema that also accepts `null`.
fn or_null(schema: Value) -> Value {
    let Value::Object(mut schema) = schema else { return schema };
    let nothing = json!({"type": "null"});
    let mut types = types(&schema);
    if let Some(Value::Array(choices)) = schema.get_mut("anyOf") {
        if !choices.contains(&nothing) {
            choices.push(nothing);
        }
    } else if schema.contains_key("enum") || schema.contains_key("$ref") {
        let mut both = Map::new();
        both.extend(schema.shift_remove_entry("description"));
        both.insert("anyOf".to_owned(), json!([schema, nothing]));
        return Value::Object(both);
    } else if !types.is_empty() && !types.contains(&json!("null")) {
        types.push(json!("null"));
        schema.insert("type".to_owned(), json!(types));
    }
    Value::Object(schema)
}

/// Returns the schema of one of `searches`: the fields of a search, and patches of the file.
fn named_search(search: &Value, profile: &Value) -> Value {
    let mut fields = search["properties"].as_object().expect("a search has fields").clone();
    if let Some(Value::Array(choices)) = fields["strategy"].get_mut("anyOf") {
        choices.push(json!({"const": "fixed", "description": "The one load of `load`."}));
    }
    let patches = OF_A_SEARCH.map(|field| (field.to_owned(), profile["properties"][field].clone()));
    fields.extend(patches);
    json!({
        "description": "A search, and what it changes of this file.",
        "type": "object",
        "properties": fields,
        "additionalProperties": false,
    })
}

pub(super) fn profiles(_: &mut SchemaGenerator) -> Schema {
    named(json!({"$ref": format!("#/$defs/{PROFILE}")}))
}

pub(super) fn searches(_: &mut SchemaGenerator) -> Schema {
    named(json!({"$ref": format!("#/$defs/{NAMED_SEARCH}")}))
}

fn named(value: Value) -> Schema {
    json_schema!({"type": "object", "additionalProperties": value})
}

/// Adds the other name of `get` in `ready`.
pub(super) fn with_http(ready: &mut Schema) {
    let fields = ready.get_mut("properties").and_then(Value::as_object_mut);
    let fields = fields.expect("`ready` is a mapping");
    let mut http = fields["get"].clone();
    http["description"] = json!("The same as `get`.");
    fields.insert("http".to_owned(), http);
}

/// Describes the patch of a level, which may change a part of the file only.
pub(super) fn of_level(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "$ref": format!("#/$defs/{PROFILE}"),
        "propertyNames": {"enum": OF_A_LEVEL},
    })
}

pub(super) fn metric(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "string", "enum": Metric::ALL.map(Metric::name)})
}

pub(super) fn metrics(generator: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "array", "items": metric(generator)})
}

pub(super) fn strictness(_: &mut SchemaGenerator) -> Schema {
    let levels = [
        (
            Strictness::Strict,
            "Errors refuse the run, and so does a required value that is bad or unknown.",
        ),
        (Strictness::Warn, "Everything bad is printed, and nothing refused."),
        (Strictness::Off, "Nothing is printed or refused."),
    ];
    let choices = levels.map(|(level, text)| json!({"const": level, "description": text}));
    json_schema!({"oneOf": choices, "default": Strictness::default()})
}

/// One value: a text, a number, true or false.
pub(super) enum Scalar {}

/// A level of a factor: one value, or a named patch.
pub(super) enum Level {}

impl<T: JsonSchema> JsonSchema for Named<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("Named{}", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        named(generator.subschema_for::<T>().to_value())
    }
}

/// Describes a type that is not read by a derived reader.
macro_rules! described {
    ($type:ty, $name:literal, |$generator:ident| $schema:tt) => {
        impl JsonSchema for $type {
            fn schema_name() -> Cow<'static, str> {
                $name.into()
            }

            fn json_schema($generator: &mut SchemaGenerator) -> Schema {
                json_schema!($schema)
            }
        }
    };
}

described!(Written<Nanos>, "Time", |_g| {
    "description": "A length of time with its unit: ns, us, ms, s, m or h.",
    "type": "string",
    "pattern": r"^\s*[0-9.]+\s*(ns|us|µs|ms|s|m|min|h)\s*$",
    "examples": ["10ms", "1.5s", "2m"],
});

described!(Written<Rate>, "Rate", |_g| {
    "description": "A rate: per s, m or h, with k, M or G.",
    "type": "string",
    "pattern": r"^\s*[0-9.]+\s*[kKMG]?\s*/\s*(s|m|min|h)\s*$",
    "examples": ["500/s", "5k/s"],
});

described!(Written<Share>, "Share", |_g| {
    "description": "A share: in percent, or from 0 to 1.",
    "type": ["string", "number"],
    "pattern": r"^\s*[-+0-9.eE]+\s*%?\s*$",
    "minimum": 0,
    "maximum": 1,
    "examples": ["5%", 0.05],
});

described!(Written<Growth>, "Growth", |_g| {
    "description": "A step: a share of the last load, or a rate.",
    "type": "string",
    "pattern": r"^\s*([0-9.]+\s*[kKMG]?\s*/\s*(s|m|min|h)|[-+0-9.eE]+\s*%)\s*$",
    "examples": ["5%", "100/s"],
});

described!(Written<Bytes>, "Size", |_g| {
    "description": "A size with its unit: B, kB, MB, GB, KiB, MiB or GiB.",
    "type": "string",
    "pattern": SIZE,
    "examples": ["64KiB", "10MB"],
});

described!(Written<MemoryLimit>, "MemoryLimit", |_g| {
    "description": "A size of memory with its unit, from 1MiB.",
    "type": "string",
    "pattern": SIZE,
    "examples": ["64MiB"],
});

const SIZE: &str = r"^\s*[0-9.]+\s*(B|kB|KB|MB|GB|KiB|MiB|GiB)\s*$";

described!(Written<Count>, "Count", |_g| {
    "description": "A number of things from 1, with k or M.",
    "type": ["string", "integer"],
    "pattern": r"^\+?[0-9]+[kKM]?$",
    "minimum": 1,
    "examples": [1000, "100k", "1M"],
});

described!(Written<IpAddr>, "Address", |_g| {
    "description": "An IP address.",
    "type": "string",
    "examples": ["10.0.0.7"],
});

described!(Written<Cpus>, "Cpus", |_g| {
    "description": "A list of CPUs, as the kernel writes it.",
    "type": ["string", "integer"],
    "pattern": r"^[-+0-9,\s]+$",
    "minimum": 0,
    "examples": [0, "0-3", "0,2-3"],
});

described!(Written<Pin>, "Pin", |g| {
    "description": "The CPUs of shards: those of their choice (`auto`), any (`off`), or one of a list.",
    "anyOf": [{"enum": ["auto", "off"]}, g.subschema_for::<Written<Cpus>>()],
});

described!(AtLeastOne, "AtLeastOne", |_g| {
    "description": "A number from 1.",
    "type": "integer",
    "minimum": 1,
    "maximum": 1_000_000,
});

described!(Texts, "Texts", |_g| {
    "description": "One text, or a list of texts.",
    "anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}],
});

described!(Scalar, "Scalar", |_g| {
    "description": "One value.",
    "type": ["string", "number", "boolean"],
});

described!(Level, "LevelOfFactor", |g| {
    "anyOf": [g.subschema_for::<Scalar>(), g.subschema_for::<WrittenLevel>()],
});

described!(Name, "Name", |_g| {
    "description": "A name of letters, digits, `-`, `_` and `.`",
    "type": ["string", "number", "boolean"],
    "pattern": r"^[A-Za-z0-9][-_.A-Za-z0-9]*$",
    "maxLength": 80,
});

described!(Pattern, "Pattern", |_g| {
    "description": "A regular expression.",
    "type": "string",
});

described!(Port, "Port", |_g| {
    "description": "A port: `auto` for a free one, or a number.",
    "anyOf": [{"const": "auto"}, {"type": "integer", "minimum": 1, "maximum": 65_535}],
});

described!(Scheme, "Scheme", |_g| {
    "description": "The scheme of a URL.",
    "type": "string",
    "pattern": r"^[a-z][a-z0-9+.-]*$",
    "examples": ["redis", "kv"],
});

described!(Statuses, "Statuses", |_g| {
    "description": "A status, or a list of statuses.",
    "anyOf": [
        {"type": "integer", "minimum": 100, "maximum": 999},
        {"type": "array", "minItems": 1,
         "items": {"type": "integer", "minimum": 100, "maximum": 999}},
    ],
});

described!(Connections, "Connections", |g| {
    "description": "A number of connections, or a number for each request per second.",
    "anyOf": [g.subschema_for::<AtLeastOne>(), g.subschema_for::<WrittenPerRate>()],
});

described!(TlsVersion, "TlsVersion", |_g| {
    "description": "A version of TLS.",
    "enum": [1.2, 1.3, "1.2", "1.3"],
});

described!(Offered, "Offered", |g| {
    "description": "A rate, or a share of a capacity.",
    "anyOf": [g.subschema_for::<Written<Rate>>(), g.subschema_for::<WrittenShare>()],
});

described!(Start, "Start", |g| {
    "description": "The first load: a rate, or a share of what a short closed loop completes.",
    "anyOf": [g.subschema_for::<Written<Rate>>(), g.subschema_for::<WrittenProbe>()],
});

described!(Arrivals, "Arrivals", |_g| {
    "description": "A distribution of the gaps between requests.",
    "anyOf": [
        {"const": "poisson", "description": "Independent users: exponential gaps."},
        {"const": "constant", "description": "Equal gaps."},
        {"const": "uniform-gap", "description": "Gaps between zero and twice their mean."},
        {"const": "lognormal", "description": "Many short gaps and few long ones."},
        {"const": "normal", "description": "Equal gaps with random variation."},
        {"const": "zipf", "description": "As in DeathStarBench: five of six gaps are short."},
        {"enum": ["uniform", "fixed", "exponential", "exp", "norm"],
         "description": "A name that wrk's descendants use."},
        {"type": "string", "pattern": "^((lognormal|normal|norm):.+|bursts:[0-9+]+)$",
         "description": "With a parameter: the variation of the gaps, or the requests at once.",
         "examples": ["lognormal:2", "normal:0.5", "bursts:10"]},
    ],
});

described!(Shape, "Shape", |_g| {
    "description": "A rate that changes: holds, ramps, spikes and sines in sequence.",
    "type": "string",
    "examples": ["1k/s 30s, ->5k/s 60s, spike 20k/s 2s"],
});

described!(Think, "Think", |_g| {
    "description": "A think time, or the mean of an exponential one.",
    "type": "string",
    "pattern": r"^\s*(exp:)?\s*[0-9.]+\s*(ns|us|µs|ms|s|m|min|h)\s*$",
    "examples": ["10ms", "exp:10ms"],
});
