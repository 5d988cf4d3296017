//! The two things a report wants of the spec's text: its question and its limit of p99.
//!
//! No YAML is understood here: a spec written in an unusual way costs a line in a chart.

use measure::Nanos;

#[cfg(test)]
mod tests;

/// What the experiment asks, in its author's words.
pub(crate) fn about(spec: &str) -> Option<String> {
    let mut lines = spec.lines().skip_while(|line| !line.starts_with("about:"));
    let first = lines.next()?.trim_start_matches("about:").trim();
    let folded = matches!(first.chars().next(), None | Some('|' | '>'));
    let continued: Vec<&str> =
        lines.take_while(|line| line.starts_with(' ') || line.is_empty()).map(str::trim).collect();
    let text = match folded {
        true => continued.join(" "),
        false => format!("{first} {}", continued.join(" ")),
    };
    let text = text.trim().trim_matches(['"', '\'']).to_owned();
    (!text.is_empty()).then_some(text)
}

/// The limit in `p99 ≤ 100 ms and failures ≤ 0.1 %`.
pub(crate) fn p99_limit_in_words(slo: &str) -> Option<Nanos> {
    slo.split(" and ").find_map(|bound| bound.trim().strip_prefix("p99 ≤ ")?.parse().ok())
}

/// The limit in the spec's list `slo`, in block or flow style.
pub(crate) fn p99_limit(spec: &str) -> Option<Nanos> {
    let mut metric = "";
    for field in section(spec, "slo:").flat_map(|line| line.split([',', '{', '}', '[', ']'])) {
        let field = field.trim().trim_start_matches("- ");
        let Some((name, value)) = field.split_once(':') else { continue };
        let value = unquoted(value);
        match unquoted(name) {
            "metric" => metric = value,
            "max" if metric == "p99" => return value.parse().ok(),
            _ => {}
        }
    }
    None
}

/// The lines of a top-level field, its own rest first.
fn section<'a>(spec: &'a str, name: &'a str) -> impl Iterator<Item = &'a str> {
    let mut lines = spec.lines().skip_while(move |line| !line.starts_with(name));
    let first = lines.next().map(|line| &line[name.len()..]);
    first.into_iter().chain(lines.take_while(|line| line.starts_with([' ', '-', ']'])))
}

fn unquoted(text: &str) -> &str {
    text.trim().trim_matches(['"', '\''])
}
