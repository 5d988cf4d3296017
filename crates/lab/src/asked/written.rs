//! The file of a question, as text.

use std::collections::BTreeMap;
use std::fmt::Write;

use results::Slo;

use super::choice::{Choice, of_trials};
use super::kept::Kept;
use super::parts::Parts;
use super::words::{Guessed, comment, one_line};
use super::{Asked, Range};
use crate::spec::{self, Growth, Literal, quoted};

/// The first load after a probe, as a share of what it completed.
const OF_PROBE: &str = "0.7";

/// Returns the file of a question.
pub(super) fn written(
    asked: &Asked,
    parts: &Parts,
    kept: &Kept,
    choice: &Choice,
    budget: bool,
) -> String {
    let Parts { name, about, service, workload, load } = parts;
    let Choice { precision, measure, warm_up, drain } = choice;
    let words = &asked.words;
    let guess = |of: Guessed, indent: &str| words.guess(of, indent);
    let mut text: String = words.head.iter().map(|line| comment(line, "")).collect();
    let of_files = asked.needs.iter().map(|(name, of)| (name, of));
    let mut variables: BTreeMap<&String, &String> = of_files.collect();
    variables.extend(kept.values.iter().map(|(name, (of, _))| (name, of)));
    if !variables.is_empty() {
        text += "# It needs these variables of the environment, which are not kept here:\n";
        for (name, of) in variables {
            let _ = writeln!(text, "#   export {name}=…    {}", one_line(of));
        }
    }
    let slos: String = asked.slo.iter().map(|slo| format!("  - {}\n", objective(*slo))).collect();
    let _ = write!(
        text,
        "name: {}\nabout: {}\n\n{service}\n# The requests.\nworkload:\n{workload}\n\
         # The clock decides when they start, however slow the service is. One that finds no free connection waits,\n\
         # which is a part of its response time.\n\
         load:\n  model: open\n{}  arrivals: poisson\n{}  connections: {}\n{}  timeout: {}\n{load}\n\
         # Of each trial; the warm-up does not count.\n{}\
         phases: {{warm_up: {{fixed: {}}}, measure: {{time: {}}}, drain: {}}}\n\n\
         # A load meets the SLO if it meets each of these.\n{}slo:\n{slos}\n",
        quoted(name),
        quoted(about),
        guess(Guessed::Arrivals, "  "),
        guess(Guessed::Connections, "  "),
        asked.connections,
        guess(Guessed::Timeout, "  "),
        asked.timeout.written(),
        guess(Guessed::Phases, ""),
        warm_up.written(),
        measure.written(),
        drain.written(),
        guess(Guessed::Slo, ""),
    );
    let precision = Growth::By(*precision).write();
    text += &match asked.range {
        Some(Range(low, high)) => format!(
            "# The capacity is looked for between these loads, until its bounds are {precision} apart.\n{}\
             search: {{strategy: adaptive, range: [{}, {}], precision: {precision}}}\n",
            guess(Guessed::Search, ""),
            low.write(),
            high.write()
        ),
        None => format!(
            "# The first load is this share of what a short closed loop completes; the search ends when the bounds of\n\
             # the capacity are {precision} apart.\n{}\
             search: {{strategy: adaptive, start: {{probe: {OF_PROBE}}}, precision: {precision}}}\n",
            guess(Guessed::Search, "")
        ),
    };
    if let Some(time) = asked.time.filter(|_| budget) {
        let trials = of_trials(time);
        let _ = write!(
            text,
            "\n# The time for trials, and for those that the machine disturbs.\n\
             budget: {{time: {}, disturbance: {}}}\n",
            trials.written(),
            time.saturating_sub(trials).written()
        );
    }
    text
}

/// Returns an objective as a spec has it.
fn objective(slo: Slo) -> String {
    let written = serde_json::to_value(spec::Slo(slo)).expect("it is plain data");
    let field = |name: &str| quoted(written[name].as_str().unwrap_or_default());
    format!("{{metric: {}, max: {}}}", field("metric"), field("max"))
}
