//! The reference page of the experiment file, made from the schema.

use expect_test::expect_file;
use serde_json::{Map, Value};

use super::super::{NAMED_SEARCH, PROFILE, schema};

const HEAD: &str = "\
# Reference: the experiment file

Made from the schema that `benchwright schema` prints; a test keeps it current. The pages about
[the experiment file](experiment-file.md) and [its load](the-load-of-an-experiment.md) explain the fields.
";

#[test]
fn the_reference_page_is_current() {
    expect_file!["../../../../../../docs/book/reference-experiment.md"].assert_eq(&page(&schema()));
}

fn page(schema: &Value) -> String {
    let mut definitions = schema["$defs"].as_object().unwrap().clone();
    share_fields(&mut definitions);
    let definitions = &definitions;
    let mut names: Vec<&str> = Vec::new();
    reach(schema, definitions, &mut names);
    let mut page = HEAD.to_owned() + &section("The file", schema);
    for name in names {
        page += &section(name, &definitions[name]);
    }
    page
}

/// Moves the fields that all kinds of a definition have to the definition itself: they are printed once.
fn share_fields(definitions: &mut Map<String, Value>) {
    let names: Vec<String> = definitions.keys().cloned().collect();
    for name in names {
        let kinds = choices(&definitions[&name]).cloned().unwrap_or_default();
        let kinds: Vec<&str> =
            kinds.iter().map(|kind| kind["$ref"].as_str().map_or("", name_of)).collect();
        let fields = |kind: &&str| definitions.get(*kind)?["properties"].as_object();
        let fields: Option<Vec<_>> = kinds.iter().map(fields).collect();
        let Some([first, others @ ..]) = fields.as_deref() else { continue };
        let mut shared = (*first).clone();
        shared.retain(|field, of| others.iter().all(|other| other.get(field) == Some(of)));
        if shared.is_empty() {
            continue;
        }
        for kind in kinds {
            let own = definitions[kind]["properties"].as_object_mut().unwrap();
            own.retain(|field, _| !shared.contains_key(field));
        }
        definitions[&name]["properties"] = Value::Object(shared);
    }
}

/// Collects the names of the definitions that a schema uses, in the order of their first use; those
/// of patches repeat the fields of others.
fn reach<'a>(schema: &'a Value, definitions: &'a Map<String, Value>, names: &mut Vec<&'a str>) {
    let mut new = Vec::new();
    collect(schema, &mut |name| {
        if !names.contains(&name) && !name.ends_with("Patch") && !is_made(name) {
            names.push(name);
            new.push(name);
        }
    });
    for name in new {
        reach(&definitions[name], definitions, names);
    }
}

/// Returns true for definitions that consist of patches.
fn is_made(name: &str) -> bool {
    [PROFILE, NAMED_SEARCH].contains(&name)
}

fn collect<'a>(value: &'a Value, found: &mut impl FnMut(&'a str)) {
    match value {
        Value::Object(fields) => {
            fields.iter().filter(|(key, _)| *key != "$defs").for_each(|(key, value)| match value {
                Value::String(path) if key == "$ref" => found(name_of(path)),
                value => collect(value, found),
            })
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, found)),
        _ => {}
    }
}

fn name_of(path: &str) -> &str {
    path.rsplit('/').next().unwrap()
}

fn section(name: &str, schema: &Value) -> String {
    let mut text = format!("\n## {name}\n");
    if let Some(description) = schema["description"].as_str() {
        text += &format!("\n{description}\n");
    }
    let (choices, fields) = (choices(schema), schema["properties"].as_object());
    if let Some(choices) = choices {
        text += "\n| value | meaning |\n|---|---|\n";
        for choice in choices {
            let description = choice["description"].as_str().unwrap_or_default();
            text += &row(&[&form(choice), &cell(description)]);
        }
        if fields.is_some() {
            text += "\nAll of them have these fields, too.\n";
        }
    }
    if let Some(fields) = fields {
        text += "\n| field | value | default | meaning |\n|---|---|---|---|\n";
        let required = schema["required"].as_array().cloned().unwrap_or_default();
        for (field, of) in fields {
            let default = match &of["default"] {
                _ if required.iter().any(|name| name == field) => "required".to_owned(),
                Value::Null => String::new(),
                Value::String(text) => format!("`{text}`"),
                value => format!("`{value}`"),
            };
            let meaning = cell(of["description"].as_str().unwrap_or_default());
            text += &row(&[&format!("`{field}`"), &form(of), &default, &meaning]);
        }
    } else if choices.is_none() {
        text += &format!("\nWritten as: {}.\n", form(schema));
    }
    text
}

fn choices(schema: &Value) -> Option<&Vec<Value>> {
    ["oneOf", "anyOf"].iter().find_map(|key| schema[key].as_array())
}

/// Returns how a value is written: links to sections, words for plain types, and examples.
fn form(schema: &Value) -> String {
    let code = |value: &Value| match value {
        Value::String(text) => format!("`{text}`"),
        value => format!("`{value}`"),
    };
    if let Some(path) = schema["$ref"].as_str() {
        let name = name_of(path);
        return match name {
            PROFILE => "a patch of this file".to_owned(),
            NAMED_SEARCH => "a [Search](#search) with patches of this file".to_owned(),
            name => format!("[{name}](#{})", name.to_lowercase()),
        };
    }
    if let Some(value) = schema.get("const") {
        return code(value);
    }
    if let Some(values) = schema["enum"].as_array() {
        return values.iter().map(code).collect::<Vec<_>>().join(", ");
    }
    if let Some(choices) = choices(schema) {
        let is_null = |choice: &&Value| choice["type"] == "null";
        let forms = choices.iter().filter(|choice| !is_null(choice)).map(form);
        return forms.collect::<Vec<_>>().join(" or ");
    }
    if let Some(fields) = schema["properties"].as_object() {
        let fields = fields.iter().map(|(name, of)| format!("`{name}:` {}", form(of)));
        return fields.collect::<Vec<_>>().join(", ");
    }
    let examples = schema["examples"].as_array();
    if let Some(examples) = examples {
        let examples: Vec<String> = examples.iter().map(code).collect();
        return format!("for example {}", examples.join(", "));
    }
    match kind(schema) {
        "array" => match &schema["prefixItems"] {
            Value::Array(items) => {
                format!("[{}]", items.iter().map(form).collect::<Vec<_>>().join(", "))
            }
            _ => format!("list of {}", form(&schema["items"])),
        },
        "object" => match &schema["additionalProperties"] {
            of @ Value::Object(_) => format!("names, each with {}", form(of)),
            _ => "names, each with any value".to_owned(),
        },
        "boolean" => "`true`, `false`".to_owned(),
        kind => kind.to_owned(),
    }
}

/// Returns the kind of a plain value; the other types are how YAML writes the same.
fn kind(schema: &Value) -> &'static str {
    let types = &schema["type"];
    let is = |wanted: &str| match types {
        Value::Array(types) => types.first().is_some_and(|first| first == wanted),
        one => one == wanted,
    };
    ["array", "object", "boolean", "integer", "number", "string"]
        .into_iter()
        .find(|kind| is(kind))
        .map_or("anything", |kind| if kind == "string" { "text" } else { kind })
}

fn row(cells: &[&str]) -> String {
    let cells: Vec<&str> = cells.iter().map(|cell| cell.trim()).collect();
    format!("| {} |\n", cells.join(" | "))
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace("\n\n", " ")
}
