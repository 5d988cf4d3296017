//! Values that fit a schema of an OpenAPI document: the document's own examples, or guesses.

use serde_json::{Map, Value, json};

/// The most references that are followed one after the other.
const MOST_HOPS: usize = 16;
/// The depth of a value, and the number of its parts, up to which one is made.
const DEEPEST: usize = 8;
const MOST_PARTS: usize = 200;

/// A value for a schema.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Example {
    pub(crate) value: Value,
    /// The reason for this value, if the document does not have it.
    pub(crate) guess: Option<String>,
}

/// Follows the references of a value within its document; `None` if one leads out of it, or nowhere.
pub(crate) fn resolved<'a>(root: &'a Value, mut value: &'a Value) -> Option<&'a Value> {
    for _ in 0..MOST_HOPS {
        let Some(reference) = value.get("$ref").and_then(Value::as_str) else { return Some(value) };
        value = root.pointer(reference.strip_prefix('#')?)?;
    }
    None
}

/// Returns a value for a schema; `None` if none can be made.
pub(crate) fn example(root: &Value, schema: &Value) -> Option<Example> {
    Making { root, parts: 0 }.of(schema, 0)
}

struct Making<'a> {
    root: &'a Value,
    parts: usize,
}

impl Making<'_> {
    fn of(&mut self, schema: &Value, depth: usize) -> Option<Example> {
        self.parts += 1;
        if DEEPEST < depth || MOST_PARTS < self.parts {
            return None;
        }
        let schema = resolved(self.root, schema)?;
        if let Some(value) = stated(schema) {
            return Some(Example { value: value.clone(), guess: None });
        }
        if let Some(parts) = schema.get("allOf").and_then(Value::as_array) {
            return self.all_of(schema, parts, depth);
        }
        for choice in ["oneOf", "anyOf"] {
            if let Some(first) =
                schema.get(choice).and_then(Value::as_array).and_then(|all| all.first())
            {
                return self.of(first, depth + 1);
            }
        }
        match kind(schema) {
            "object" => self.object(schema, depth),
            "array" => {
                let item = self.of(schema.get("items").unwrap_or(&Value::Null), depth + 1)?;
                Some(Example { value: json!([item.value]), guess: item.guess })
            }
            kind => Some(scalar(schema, kind)),
        }
    }

    fn all_of(&mut self, schema: &Value, parts: &[Value], depth: usize) -> Option<Example> {
        let mut whole = Map::new();
        let mut guess = None;
        let own =
            schema.get("properties").is_some().then(|| self.object(schema, depth + 1)).flatten();
        let mut all: Vec<Example> = own.into_iter().collect();
        for part in parts {
            all.push(self.of(part, depth + 1)?);
        }
        for Example { value, guess: own } in all {
            guess = guess.or(own);
            match value {
                Value::Object(fields) => whole.extend(fields),
                other => return Some(Example { value: other, guess }),
            }
        }
        Some(Example { value: Value::Object(whole), guess })
    }

    /// Returns an object with the required properties, and those of which the document has a value.
    fn object(&mut self, schema: &Value, depth: usize) -> Option<Example> {
        let required: Vec<&str> = schema
            .get("required")
            .and_then(Value::as_array)
            .map(|names| names.iter().filter_map(Value::as_str).collect())
            .unwrap_or_default();
        let mut object = Map::new();
        let mut guess = None;
        let properties = schema.get("properties").and_then(Value::as_object);
        for (name, property) in properties.into_iter().flatten() {
            let is_required = required.contains(&&**name);
            let known = resolved(self.root, property).and_then(stated);
            let value = match known {
                Some(value) => Some(Example { value: value.clone(), guess: None }),
                None if is_required => self.of(property, depth + 1),
                None => continue,
            };
            let Some(Example { value, guess: own }) = value else {
                if is_required {
                    return None;
                }
                continue;
            };
            guess = guess.or(own.map(|own| format!("{name}: {own}")));
            object.insert(name.clone(), value);
        }
        Some(Example { value: Value::Object(object), guess })
    }
}

/// Returns the value that a schema or a parameter states itself.
pub(crate) fn stated(schema: &Value) -> Option<&Value> {
    let first = |name: &str| schema.get(name).and_then(Value::as_array).and_then(|all| all.first());
    let of_examples = schema.get("examples").and_then(Value::as_object);
    let of_examples =
        of_examples.and_then(|all| all.values().next()).and_then(|one| one.get("value"));
    schema
        .get("example")
        .or_else(|| first("examples"))
        .or(of_examples)
        .or_else(|| schema.get("x-example"))
        .or_else(|| schema.get("default"))
        .or_else(|| schema.get("const"))
        .or_else(|| first("enum"))
        .filter(|value| !value.is_null())
}

/// Returns the type of a schema; of several the first that is not null.
fn kind(schema: &Value) -> &str {
    match schema.get("type") {
        Some(Value::String(kind)) => kind,
        Some(Value::Array(all)) => {
            all.iter().filter_map(Value::as_str).find(|kind| *kind != "null").unwrap_or("string")
        }
        _ if schema.get("properties").is_some() => "object",
        _ if schema.get("items").is_some() => "array",
        _ => "string",
    }
}

fn scalar(schema: &Value, kind: &str) -> Example {
    let number = |name: &str| schema.get(name).and_then(Value::as_f64).filter(|n| n.is_finite());
    let format = schema.get("format").and_then(Value::as_str).unwrap_or_default();
    let value = match (kind, format) {
        ("integer" | "number", _) => {
            let least = number("minimum").or(number("exclusiveMinimum").map(|least| least + 1.0));
            let most = number("maximum").unwrap_or(f64::MAX);
            match least.unwrap_or(1.0).min(most) {
                whole if whole.fract() == 0.0 && whole.abs() < 9e15 => json!(whole as i64),
                other => json!(other),
            }
        }
        ("boolean", _) => json!(true),
        (_, "uuid") => json!("00000000-0000-4000-8000-000000000001"),
        (_, "date") => json!("2026-01-01"),
        (_, "date-time") => json!("2026-01-01T00:00:00Z"),
        (_, "email") => json!("user@example.com"),
        (_, "uri" | "url") => json!("https://example.com/"),
        _ => json!(text(schema)),
    };
    let named = [kind, format].iter().filter(|word| !word.is_empty()).copied().collect::<Vec<_>>();
    let guess = format!("the document has no example of this {}", named.join(", "));
    Example { value, guess: Some(guess) }
}

/// Returns a word of a length that the schema allows.
fn text(schema: &Value) -> String {
    const WORD: &str = "example";
    /// A longer text is not made up.
    const MOST: u64 = 256;
    let length = |name: &str| schema.get(name).and_then(Value::as_u64);
    let least = length("minLength").unwrap_or(1).min(MOST) as usize;
    let most = length("maxLength").unwrap_or(MOST).min(MOST) as usize;
    let length = WORD.len().max(least).min(most.max(1));
    WORD.chars().cycle().take(length).collect()
}
