//! One load as a page: the contents of its document, with the verdict first and the curves next.

use std::fmt::Write;

use measure::Quantile;
use results::load::{Connections, Generator, Pacing};
use results::printed::{Printed, Since};
use results::slo::Judged;
use results::{Little, Load, failing, shell};

use crate::page;
use crate::table::Table;
use crate::text::{count, escape, integer, rate, share, time};

mod figures;
mod tables;

#[cfg(test)]
mod tests;

/// The contents of the page, for those who give it away.
const CONTENTS: &str = "the command with its arguments as they were written, the targets and all figures, and its \
                        messages may quote what the service answered. Secrets that were written as \
                        <code>${env.NAME}</code> are not in it";

/// Renders the page of one load, complete or interrupted, valid or not.
pub fn render(load: &Load) -> String {
    let mut body = String::new();
    write(load, &mut body).expect("writing to a string does not fail");
    page::document(&title(load), CONTENTS, &body)
}

fn write(load: &Load, out: &mut String) -> std::fmt::Result {
    page::titled(&title(load), Some(&asked(load)), &facts(load), out)?;
    out.push_str("<main>\n");
    verdict(load, out)?;
    out.push_str("<section><h2>Figures</h2>\n");
    match figures::all(load) {
        _ if load.foreign.is_some() => out.push_str("<p>Its generator keeps no histogram.</p>"),
        figures if figures.is_empty() => out.push_str("<p>There was no response.</p>"),
        figures => {
            out.push_str("<div class=\"charts\">\n");
            figures.iter().for_each(|figure| out.push_str(&figure.html()));
            out.push_str("</div>");
        }
    }
    out.push_str("</section>\n");
    section("Times", &tables::times(load), out)?;
    out.push_str("<section class=\"narrow\"><h2>Outcomes</h2>");
    writeln!(out, "{}</section>", tables::outcomes(load).html())?;
    if 1 < load.targets.len() {
        section("Targets", &tables::targets(load), out)?;
    }
    if let Some(sessions) = &load.total.sessions {
        section("Sessions", &tables::sessions(sessions), out)?;
    }
    if !load.labels.is_empty() {
        section("Labels", &tables::labels(load), out)?;
    }
    if !load.segments.is_empty() {
        section("Segments", &tables::segments(load), out)?;
    }
    out.push_str("<section class=\"provenance\"><h2>Load and generator</h2>\n");
    page::fold(out, "Load", &page::pairs(&identity(load)));
    page::fold(out, "Generator", &page::pairs(&generator(&load.generator)));
    page::fold(out, "Run it again", &format!("<pre>{}</pre>", escape(&command(load))));
    out.push_str("</section>\n</main>\n");
    Ok(())
}

fn section(name: &str, table: &Table, out: &mut String) -> std::fmt::Result {
    writeln!(out, "<section><h2>{name}</h2>{}</section>", table.html())
}

/// The only URL, or the first one and the number of others.
fn title(load: &Load) -> String {
    match load.targets.as_slice() {
        [] => "A load without targets".to_owned(),
        [only] => only.url.clone(),
        [first, more @ ..] => format!("{} and {}", first.url, count(more.len(), "more target")),
    }
}

/// The requested load, in a sentence.
fn asked(load: &Load) -> String {
    let connections = match &load.connections {
        Some(connections) => format!(" on {}", count(connections.asked as usize, "connection")),
        None => String::new(),
    };
    let length = format!("{:.1} s", load.measured_s);
    let sessions = load.total.sessions.as_ref().and_then(|sessions| sessions.asked_per_s);
    if let (Pacing::Open { arrivals }, Some(asked)) = (&load.pacing, sessions) {
        return format!(
            "Open loop: sessions begin by the clock, {} of them, {arrivals} arrivals, for {length}{connections}. \
             A first step counts from its intended start, each later one from the response before it and the \
             think time.",
            rate(asked)
        );
    }
    match (&load.pacing, load.total.rates_per_s.asked) {
        (Pacing::Open { arrivals }, Some(asked)) => format!(
            "Open loop: {} by the clock, {arrivals} arrivals, for {length}{connections}.",
            rate(asked)
        ),
        (Pacing::Open { arrivals }, None) => {
            format!("Open loop: by the clock, {arrivals} arrivals, for {length}{connections}.")
        }
        (Pacing::Closed { think_ns: 0 }, _) => {
            format!(
                "Closed loop: each response brings the next request, for {length}{connections}."
            )
        }
        (Pacing::Closed { think_ns }, _) => format!(
            "Closed loop: each response brings the next request after {}, for {length}{connections}.",
            time(*think_ns)
        ),
    }
}

fn facts(load: &Load) -> Vec<String> {
    let mut facts = vec![load.version.clone()];
    facts.extend(load.compatibility.as_ref().map(|compatibility| format!("as {compatibility}")));
    facts.push(format!("seed {}", load.seed));
    facts.push(count(load.total.counts.intended as usize, "request"));
    facts
}

/// Writes the verdict: what failed, then the validity of the generator, then the results.
fn verdict(load: &Load, out: &mut String) -> std::fmt::Result {
    let (class, word) = word(load);
    writeln!(out, "<section class=\"verdict {class}\">\n<h2>{word}</h2>")?;
    if let Some(failed) = failing::of_load_in_words(load) {
        writeln!(out, "<p class=\"problem\">✗ {}</p>", escape(&failed))?;
    }
    out.push_str("<dl>\n");
    for gate in &load.validity.gates {
        let mark = if gate.passed { "✓" } else { "✗" };
        writeln!(out, "<dt>{mark} {}</dt><dd>{}</dd>", gate.name, escape(&gate.figure))?;
    }
    for gate in &load.validity.unknown {
        writeln!(out, "<dt>? {}</dt><dd>{}</dd>", gate.name, escape(&gate.why))?;
    }
    out.push_str("</dl>\n");
    for reason in &load.validity.reasons {
        writeln!(out, "<p class=\"problem\">✗ {}</p>", escape(reason))?;
    }
    if let Some(why) = load.answers_even_so() {
        writeln!(out, "<p>But {}.</p>", escape(&why))?;
    }
    out.push_str("<div class=\"figures\">\n");
    completed(load, out)?;
    response(load, out)?;
    out.push_str("</div>\n<dl>\n");
    for (name, text) in said(load) {
        writeln!(out, "<dt>{name}</dt><dd>{}</dd>", escape(&text))?;
    }
    out.push_str("</dl>\n</section>\n");
    Ok(())
}

fn objectives(load: &Load) -> &[Judged] {
    load.slo.as_ref().map_or(&[], |slo| &slo.objectives)
}

fn word(load: &Load) -> (&'static str, &'static str) {
    let is_failing = failing::is_noticed(load);
    let is_missed = failing::is_missed(load, objectives(load));
    match &load.slo {
        _ if load.partial => ("open", "‖ Interrupted"),
        _ if is_failing && !load.validity.valid => ("bad", "✗ Failing service, and not valid"),
        Some(slo) if is_failing && slo.met && !is_missed => {
            ("open", "! Valid measurement of a failing service, and the SLO is met")
        }
        _ if is_failing => ("bad", "✗ Valid measurement of a failing service"),
        _ if !load.validity.valid => ("bad", "! Not valid"),
        Some(slo) if !slo.met => ("bad", "✗ Valid, and the SLO is missed"),
        _ if failing::is_mostly_waits(load) => {
            ("open", "! Valid, but most requests had no response when the load ended")
        }
        Some(_) => ("good", "✓ Valid, and the SLO is met"),
        None if !load.validity.unknown.is_empty() => ("good", "✓ Valid as far as it is known"),
        None => ("good", "✓ Valid"),
    }
}

fn completed(load: &Load, out: &mut String) -> std::fmt::Result {
    let rates = &load.total.rates_per_s;
    write!(
        out,
        "<div class=\"figure\"><h3>Completed rate</h3><p class=\"big\">{}{} <span>completed</span></p>",
        if load.generator.generator_bound == Some(true) { "<span>at least</span> " } else { "" },
        rate(rates.completed)
    )?;
    match &load.pacing {
        Pacing::Open { .. } => write!(
            out,
            "<p>of {} offered, {} of it</p><p class=\"definition\">Offered: the rate of intended \
             starts, which does not depend on the target.</p></div>",
            rate(rates.offered),
            share(rates.completed, rates.offered)
        ),
        Pacing::Closed { .. } => out.write_str(
            "<p>as fast as responses came</p><p class=\"definition\">A closed loop slows down with \
             its target, and sends fewer requests the slower it is.</p></div>",
        ),
    }
}

fn response(load: &Load, out: &mut String) -> std::fmt::Result {
    out.push_str("<div class=\"figure\"><h3>Response time</h3>");
    match &load.total.response_time {
        None => match &load.total.printed {
            Some(printed) => out.push_str(&of_printed(printed)),
            None => out.push_str("<p class=\"big\">none</p><p>There was no response.</p>"),
        },
        Some(times) => write!(
            out,
            "<p class=\"big\">{}{} <span>p99</span></p><p>p50 {}, max {}</p>{}",
            if load.generator.p99_at_most { "<span>at most</span> " } else { "" },
            time(times.p99_ns),
            time(times.p50_ns),
            time(times.max_ns),
            failing::of_times_in_words(&load.total)
                .map_or(String::new(), |of| format!("<p class=\"problem\">! {of}</p>"))
        )?,
    }
    out.push_str(
        "<p class=\"definition\">From the intended start to the complete response: what a user \
         waits.</p></div>\n",
    );
    Ok(())
}

/// The percentiles that another generator printed.
fn of_printed(printed: &Printed) -> String {
    let each = printed.percentiles.iter().filter_map(|one| {
        Some(format!("{} {}", Quantile::new(one.level)?.name(), time(one.time_ns)))
    });
    let max = printed.max_ns.map(|ns| format!("max {}", time(ns)));
    let all: Vec<String> = each.chain(max).collect();
    let since = match printed.since {
        Since::Intended => "its intended start",
        Since::Sent => "its sending",
    };
    format!("<p>{}</p><p>As printed, each from {since}.</p>", all.join(", "))
}

/// The statements about the target and the figures.
fn said(load: &Load) -> Vec<(&'static str, String)> {
    let counts = &load.total.counts;
    let mut said = vec![
        ("goodput", rate(load.total.rates_per_s.goodput)),
        (
            "failed",
            format!("{} of {}", integer(counts.failed), count(counts.intended as usize, "request")),
        ),
    ];
    if let Some(operations) = &load.total.operations {
        let completed = format!("{} completed", rate(operations.completed_per_s));
        said.push(("operations", completed));
    }
    if let Some(redirected) = load.total.redirected {
        let text = format!("{} sent elsewhere", count(redirected as usize, "request"));
        said.push(("redirected", text));
    }
    said.extend(Little::of(load).map(|little| ("Little’s law", little.in_words())));
    if let Some(tls) = &load.total.tls {
        let handshakes = count(tls.handshakes as usize, "handshake");
        let resumed = share(tls.resumed_share, 1.0);
        let text = format!("{} {}, {handshakes}, {resumed} resumed", tls.version, tls.cipher);
        said.push(("secured", text));
    }
    said.extend(objectives(load).iter().map(|judged| ("SLO", judged.text.clone())));
    said.extend(failing::missed_in_words(load, objectives(load)).map(|text| ("fails", text)));
    said.extend(load.ended.iter().map(|how| ("ended", how.to_string())));
    said.extend(load.findings.iter().map(|finding| ("found", finding.clone())));
    said.extend(load.warnings.iter().map(|warning| ("warning", warning.clone())));
    if load.generator.generator_bound == Some(true) {
        let what = "the generator was busy itself: no capacity follows from this rate";
        said.push(("generator-bound", what.to_owned()));
    }
    said
}

fn identity(load: &Load) -> Vec<(String, String)> {
    let counts = &load.total.counts;
    // Another generator does not print them: they are unknown, not zero.
    let counted = |count: u64| load.foreign.is_none().then(|| integer(count));
    let connections = load.connections.as_ref();
    let facts = [
        ("tool", Some(load.version.clone())),
        ("document", Some(load.schema.clone())),
        ("as", load.compatibility.clone()),
        ("seed", Some(load.seed.to_string())),
        ("measured", Some(format!("{:.3} s", load.measured_s))),
        ("asked", load.total.rates_per_s.asked.map(rate)),
        ("connections", connections.map(|c| connected(load, c))),
        ("connections opened again", counted(counts.reconnects)),
        ("bytes sent", counted(counts.bytes_sent)),
        ("bytes received", counted(counts.bytes_received)),
    ];
    known(facts)
        .chain(load.targets.iter().map(|target| ("target".to_owned(), target.url.clone())))
        .collect()
}

/// Returns the connections in words, with the reason why their number is not the one that was asked for.
fn connected(load: &Load, connections: &Connections) -> String {
    let Connections { asked, reached, .. } = connections;
    let why = match (&load.part, load.targets.len() as u64) {
        (Some(part), _) => format!("; they are the share of part {part} of the load"),
        (None, targets @ 2..) => format!("; {} for each target", asked / targets),
        (None, _) => String::new(),
    };
    format!("{reached} of {asked} reached{why}")
}

fn generator(generator: &Generator) -> Vec<(String, String)> {
    let percent = |share: f64| format!("{:.2} %", 100.0 * share);
    let cpus: Vec<String> = generator.cpus.iter().map(u32::to_string).collect();
    let facts = [
        ("loop", generator.io.clone()),
        ("chosen because", generator.io_why.clone()),
        ("TCP's congestion control", generator.congestion_control.clone()),
        ("timer", generator.timer.clone()),
        ("shards", generator.shards.map(|n| n.to_string())),
        ("on CPUs", (!cpus.is_empty()).then(|| cpus.join(", "))),
        ("CPU time", generator.cpu_s.map(|s| format!("{s:.2} s"))),
        ("busiest shard was busy", generator.busy_share.map(percent)),
        ("in scripts", generator.script_share.map(percent)),
        ("watching the clock", generator.spin_share.map(percent)),
        ("woken late by, p99", generator.wake_up_delay.as_ref().map(|t| time(t.p99_ns))),
        ("longest turn of the loop", generator.turn_max_ns.map(time)),
        ("hiccups p99", generator.hiccup.as_ref().map(|times| time(times.p99_ns))),
        ("longest hiccup", generator.hiccup_max_ns.map(time)),
        ("stolen by the hypervisor", generator.steal_share.map(percent)),
        ("throttled", generator.throttled_share.map(percent)),
        ("waiting for a CPU", generator.run_queue_wait_share.map(percent)),
        (
            "responses waited in the kernel, p99",
            generator.receive_delay.as_ref().map(|t| time(t.p99_ns)),
        ),
        ("TCP segments sent", generator.segments_sent.map(integer)),
        ("sent again", generator.segments_retransmitted.map(integer)),
        ("free local ports, fewest", generator.free_ports.map(integer)),
    ];
    known(facts).collect()
}

/// The facts that were measured.
fn known<const N: usize>(
    facts: [(&str, Option<String>); N],
) -> impl Iterator<Item = (String, String)> {
    facts.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)))
}

/// The command for the same load; an original needs its seed to repeat it.
fn command(load: &Load) -> String {
    let words = shell::line(&load.arguments);
    let as_original =
        load.compatibility.as_ref().map(|compatibility| match compatibility.as_str() {
            "wrk" => "wrk --compatibility wrk".to_owned(),
            compatibility => format!("wrk2 --compatibility {}", shell::word(compatibility)),
        });
    if load.foreign.is_some() {
        return words;
    }
    let start = match as_original {
        None => String::new(),
        Some(name) if load.arguments.iter().any(|word| word.starts_with("--seed")) => name + " ",
        Some(name) => format!("{name} --seed {} ", load.seed),
    };
    format!("benchwright {start}{words}")
}
