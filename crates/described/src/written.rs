//! The mix of what a source says: a request on each line, with what is known of it, and what is guessed, above.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use measure::Nanos;
use results::secrets::{self, ENV};
use serde_json::{Map, Value, json};

use crate::described::{Described, Request, Step};
use crate::words::one_line;

/// The most requests that stand there as comments.
const MOST_LEFT_OUT: usize = 200;
/// The name of the session of a journey.
const SESSION: &str = "user";

/// A mix as text.
#[derive(Clone, Debug, PartialEq)]
pub struct Mix {
    pub text: String,
    /// The variables of the environment that its requests need, each with what it is the value of.
    pub variables: BTreeMap<String, String>,
}

/// Writes the mix of what a source says; `from` names the source.
pub fn mix(described: &Described, from: &str) -> Mix {
    let Described { requests, paths_guess, weights_guess, steps, .. } = described;
    let (sent, left_out): (Vec<&Request>, Vec<&Request>) =
        requests.iter().partition(|request| request.left_out.is_none());
    let is_step = |request: &Request| {
        steps
            .iter()
            .any(|step| matches!(step, Step::Request(place) if requests[*place] == *request))
    };
    let mut used = BTreeSet::new();
    let mut text = format!(
        "# The requests of {}, one JSON object a line. `benchwright mix check` shows them as they are sent.\n",
        no_reference(&one_line(from))
    );
    if let Some(why) = paths_guess {
        let _ = writeln!(text, "# guess: the paths: {}", one_line(why));
    }
    let sent: Vec<&Request> =
        sent.into_iter().filter(|one| steps.is_empty() || is_step(one)).collect();
    match (weights_guess, steps.is_empty()) {
        (Some(why), true) => {
            let _ = writeln!(text, "# guess: the weights: {}", one_line(why));
        }
        (_, false) => {
            text += "# guess: the session: every user does what this one did, and thinks as long\n";
        }
        (None, true) => {}
    }
    for request in sent {
        text.push('\n');
        about(request, &mut text);
        let line = line(request, steps.is_empty()).to_string();
        used.extend(variables(&line));
        text += &line;
        text.push('\n');
    }
    if !steps.is_empty() {
        let _ = writeln!(text, "\n{}", session(requests, steps));
    }
    if !left_out.is_empty() {
        text += "\n# Not sent. Remove the `#` before a `{` to send one; (NAME) is a secret: write it as a reference to a\n\
                 # variable of the environment, as a dollar sign with {env.NAME} behind it.\n";
    }
    for request in left_out.iter().take(MOST_LEFT_OUT) {
        let why = request.left_out.as_deref().unwrap_or_default();
        let _ = writeln!(text, "\n# not sent: {}", one_line(why));
        about(request, &mut text);
        let mut line = line(request, steps.is_empty()).to_string();
        // A reference is looked for in comments, too: a variable that nothing needs must not be asked for.
        for variable in variables(&line) {
            if !used.contains(&variable) {
                line = line.replace(&format!("${{{ENV}{variable}}}"), &format!("({variable})"));
            }
        }
        let _ = writeln!(text, "#{line}");
    }
    if MOST_LEFT_OUT < left_out.len() {
        let _ = writeln!(text, "\n# {} more are not sent.", left_out.len() - MOST_LEFT_OUT);
    }
    let of = |name: String| {
        let of = described.variables.get(&name).cloned().unwrap_or_default();
        (name, of)
    };
    Mix { text, variables: used.into_iter().map(of).collect() }
}

/// Writes what is known of a request, and what is guessed.
fn about(request: &Request, text: &mut String) {
    for fact in &request.facts {
        let _ = writeln!(text, "# {}", no_reference(&one_line(fact)));
    }
    for guess in &request.guesses {
        let _ = writeln!(text, "# guess: {}", no_reference(&one_line(guess)));
    }
}

/// Returns a text that refers to no variable: references are looked for in comments, too.
fn no_reference(text: &str) -> String {
    text.replace("${", "$ {")
}

fn variables(line: &str) -> Vec<String> {
    let names = secrets::references(line).filter_map(|name| name.strip_prefix(ENV));
    names.map(str::to_owned).collect()
}

/// Returns the line of a request; a step of a session has no weight.
fn line(request: &Request, has_weight: bool) -> Value {
    let mut line = Map::new();
    if has_weight {
        line.insert("weight".to_owned(), json!(request.weight.max(1)));
    }
    line.insert("label".to_owned(), json!(no_reference(&request.label)));
    if request.method != "GET" {
        line.insert("method".to_owned(), json!(request.method));
    }
    line.insert("target".to_owned(), json!(request.target));
    if !request.headers.is_empty() {
        let fields = request.headers.iter().map(|(name, value)| (name.clone(), json!(value)));
        line.insert("headers".to_owned(), Value::Object(fields.collect()));
    }
    if let Some(body) = &request.body {
        line.insert("body".to_owned(), json!(body));
    }
    if !request.captures.is_empty() {
        line.insert("capture".to_owned(), json!(request.captures));
    }
    Value::Object(line)
}

/// Returns the line of a session. A think time stands between two steps.
fn session(requests: &[Request], steps: &[Step]) -> Value {
    let mut words: Vec<String> = Vec::new();
    let mut think = None;
    for step in steps {
        match step {
            Step::Think(time) => think = Some(*time),
            Step::Request(place) if requests[*place].left_out.is_some() => {}
            Step::Request(place) => {
                let think = think.take().filter(|_| !words.is_empty());
                words.extend(think.map(|time| format!("think {}", rounded(time).written())));
                words.push(no_reference(&requests[*place].label));
            }
        }
    }
    json!({"session": SESSION, "steps": words})
}

/// Returns a time of a recording as a person would write it.
fn rounded(time: Nanos) -> Nanos {
    let step = if time < Nanos::SECOND { 10_000_000 } else { 100_000_000 };
    Nanos((time.0 / step).max(1) * step)
}
