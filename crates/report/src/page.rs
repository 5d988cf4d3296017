//! The page from top to bottom: question, verdict, figures, trials, and their provenance.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use results::analysis::Code;
use results::answer::{Verdict, failing_strands, habits_in_words};
use results::directory::Error;
use results::doctor::Check;
use results::environment::Node;
use results::manifest::State;
use results::{Answer, Directory, Doctor, Entry, Metric, shell};

use crate::chart;
use crate::plot::STYLE;
use crate::run::{Run, Trial};
use crate::table::{between, by_label, components, delivery, found, levels, raw, trials};
use crate::text::{count, date, escape, list, share, time};

mod badges;

const SCRIPT: &str = include_str!("script.js");

/// A policy that forbids every connection, in case foreign text ever passes the escaping.
const POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; base-uri 'none'";

/// The longest spec that is shown in full.
const MOST_SPEC: usize = 64 * 1024;

/// The most trials that are shown without being asked for.
const MOST_OPEN: usize = 40;

/// The contents of the page of a run, for those who give it away.
const CONTENTS: &str = "the experiment file, the description of the machine and all figures, and its messages may quote \
                        what the service answered or printed. Secrets that were written as \
                        <code>${env.NAME}</code> are not in it";

/// A report that was written, and the parts of the directory that it lacks.
#[derive(Clone, Debug, PartialEq)]
pub struct Written {
    pub path: PathBuf,
    /// The files of trials that cannot be read any more, in words, by trial.
    pub unread: Vec<String>,
    /// The other files that could not be read, each with its reason.
    pub problems: Vec<String>,
    /// True if the answer lacks such a trial.
    pub lacks_evidence: bool,
}

/// Renders the page of a directory. `answer` is the one to show: of a run that has none yet, the preliminary
/// one; without it the page shows the one that was kept.
pub fn render(directory: &Directory, answer: Option<Answer>) -> Result<String, Error> {
    Run::read(directory, None, answer, None).map(|run| page(&run))
}

/// Writes `report.html` into the directory atomically. `journal` is that of the directory if the caller has read it:
/// reading it takes in all files of all trials.
pub fn write(
    directory: &Directory,
    journal: Option<Vec<Entry>>,
    answer: Option<Answer>,
) -> Result<Written, Error> {
    let (page, written) = compose(directory, journal, answer, None)?;
    directory.write(NAME, page.as_bytes())?;
    Ok(written)
}

/// Returns the page that [`write`] writes, and what it says of it. `unknown` is why nothing can be concluded from the
/// trials, if so: then no answer is shown.
pub fn compose(
    directory: &Directory,
    journal: Option<Vec<Entry>>,
    answer: Option<Answer>,
    unknown: Option<&str>,
) -> Result<(String, Written), Error> {
    let run = Run::read(directory, journal, answer, unknown)?;
    let (page, path) = (page(&run), directory.path().join(NAME));
    let Run { unread, problems, lacks_evidence, .. } = run;
    Ok((page, Written { path, unread, problems, lacks_evidence }))
}

/// The name of the page of a results directory.
pub const NAME: &str = "report.html";

fn page(run: &Run) -> String {
    let mut body = String::new();
    write_body(run, &mut body).expect("writing to a string does not fail");
    document(&run.manifest.experiment, CONTENTS, &body)
}

/// The whole file. The title is foreign text; `contents`, which completes a sentence for those who give the page away, and
/// `body` are our own markup.
pub(crate) fn document(title: &str, contents: &str, body: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{} · benchwright</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n\
         {body}<footer class=\"definition\">Before you share this page: it contains {contents}.</footer>\n\
         <div id=\"tip\" hidden></div>\n<script>\n{SCRIPT}</script>\n</body>\n</html>\n",
        escape(title),
    )
}

fn write_body(run: &Run, out: &mut String) -> std::fmt::Result {
    header(run, out)?;
    out.push_str("<main>\n");
    verdict(run, out)?;
    between::write(run, out)?;
    figures(run, out)?;
    delivery::write(run, out)?;
    if let Some(table) = by_label::table(run) {
        writeln!(out, "<section><h2>Labels</h2>{}</section>", table.html())?;
    }
    every_trial(run, out)?;
    provenance(run, out)?;
    data(run, out)?;
    writeln!(out, "</main>")
}

fn header(run: &Run, out: &mut String) -> std::fmt::Result {
    let manifest = &run.manifest;
    let mut facts = vec![manifest.backend.clone()];
    facts.extend(manifest.profile.as_ref().map(|profile| format!("profile {profile}")));
    facts.extend(manifest.started_unix_s.map(date));
    facts.push(format!("seed {}", manifest.seed));
    facts.push(manifest.tool.clone());
    titled(&manifest.experiment, manifest.about.as_deref(), &facts, out)
}

/// The title of a page, its question, and the facts that identify it: all of it foreign text.
pub(crate) fn titled(
    title: &str,
    about: Option<&str>,
    facts: &[String],
    out: &mut String,
) -> std::fmt::Result {
    writeln!(
        out,
        "<header>\n<button type=\"button\" id=\"theme\" hidden>dark</button>\n<h1>{}</h1>",
        escape(title),
    )?;
    if let Some(about) = about {
        writeln!(out, "<p class=\"about\">{}</p>", escape(about))?;
    }
    writeln!(out, "<p class=\"facts\">{}</p>\n</header>", escape(&facts.join(" · ")))
}

fn verdict(run: &Run, out: &mut String) -> std::fmt::Result {
    let (class, word) = word(run);
    writeln!(out, "<section class=\"verdict {class}\">\n<h2>{word}</h2>")?;
    writeln!(out, "<p class=\"sentence\">{}</p>", escape(&sentence(run)))?;
    match (run.fixed, run.has_several()) {
        // The loads were given: no maximum and no capacity is known.
        (true, _) => {}
        (false, true) => {
            let definition = levels::definition(run);
            writeln!(out, "<p class=\"definition\">{}</p>", escape(&definition))?;
            writeln!(out, "{}", levels::table(run).html())?;
        }
        (false, false) => {
            out.push_str("<div class=\"figures\">\n");
            maximum(run, out)?;
            capacity(run, out)?;
            out.push_str("</div>\n");
        }
    }
    badges::write(&badges::of(run), out)?;
    out.push_str("<dl>\n");
    for (name, text) in conclusions(run) {
        writeln!(out, "<dt>{name}</dt><dd>{}</dd>", escape(&text))?;
    }
    out.push_str("</dl>\n");
    if let Some(table) = found::table(run) {
        out.push_str(&table.html());
    }
    for unread in &run.unread {
        writeln!(out, "<p class=\"problem\">✗ does not count: {}</p>", escape(unread))?;
    }
    for problem in &run.problems {
        writeln!(out, "<p class=\"problem\">✗ not shown: {}</p>", escape(problem))?;
    }
    out.push_str("</section>\n");
    Ok(())
}

/// Returns the class of the verdict and its words, which say it if a range ended before an answer was found.
fn word(run: &Run) -> (&'static str, String) {
    let (class, word) = verdict_in_words(run);
    let searches = run.answer.iter().flat_map(|answer| &answer.searches);
    let cut_off = searches.clone().filter(|search| search.is_cut_off()).count();
    let word = match (cut_off, searches.count()) {
        (0, _) => word.to_owned(),
        (_, 1) => format!("{word}: the range ended, so this is a lower bound"),
        (n, all) => format!("{word}: the range ended in {n} of {all} searches"),
    };
    (class, word)
}

fn verdict_in_words(run: &Run) -> (&'static str, &'static str) {
    match run.answer.as_ref().map(|answer| answer.verdict) {
        Some(Verdict::Answered) if is_failing(run) => ("open", "! Answered, and the service fails"),
        Some(Verdict::Answered) => ("good", "✓ Answered"),
        Some(Verdict::No) => ("bad", "✗ Answered: no"),
        Some(Verdict::NoAnswer) => ("bad", "! No trustworthy answer"),
        Some(Verdict::Interrupted) => ("open", "‖ Interrupted"),
        Some(Verdict::Open) | None if run.manifest.state == State::Interrupted => {
            ("open", "‖ Interrupted")
        }
        Some(Verdict::Open) | None => ("open", "… Unfinished"),
    }
}

/// Returns true if the service failed in every trial of a search.
fn is_failing(run: &Run) -> bool {
    !failing_strands(run.trials.iter().map(|trial| &trial.entry)).is_empty()
}

fn sentence(run: &Run) -> String {
    match &run.answer {
        Some(answer) if answer.verdict != Verdict::Open => answer.summary.clone(),
        Some(_) | None => format!(
            "This run has no answer: it is still running, or it ended early. What follows \
             is based on {} so far and is not a result.",
            count(run.trials.iter().filter(|trial| !trial.probe()).count(), "attempted trial"),
        ),
    }
}

/// Writes the first of two quantities that are often confused; each states its own definition.
fn maximum(run: &Run, out: &mut String) -> std::fmt::Result {
    let so_far = so_far(run);
    write!(out, "<div class=\"figure\"><h3>Maximum throughput{so_far}</h3>")?;
    match &run.maximum {
        None if is_withdrawn(run) => out.push_str(WITHDRAWN),
        None if is_failing(run) => {
            out.push_str("<p class=\"big\">none</p><p>The service failed at every load.</p>");
        }
        None if run.trials.iter().any(|trial| !trial.probe() && trial.answers()) => {
            out.push_str(
                "<p class=\"big\">–</p><p>Not looked for: the search was for the capacity.</p>",
            );
        }
        None => out.push_str("<p class=\"big\">none</p><p>No valid trial was measured.</p>"),
        Some(maximum) => {
            let p99 = run.trial(maximum.trial).and_then(|t| t.entry.observed.as_ref()?.p99_ns);
            let p99 = p99.map_or(String::new(), |ns| format!("; p99 was {} there", time(ns)));
            write!(
                out,
                "<p class=\"big\">{} <span>sustained</span></p>\
                 <p>at {} offered (trial {}), {} of it{p99}</p>",
                maximum.rate_in_words(),
                maximum.offered_in_words(),
                maximum.trial,
                share(maximum.rate_per_s, maximum.offered_per_s),
            )?;
        }
    }
    out.push_str(
        "<p class=\"definition\">The highest completed rate, but at most the offered one, \
         with any response time.</p></div>\n",
    );
    Ok(())
}

fn capacity(run: &Run, out: &mut String) -> std::fmt::Result {
    let so_far = so_far(run);
    write!(out, "<div class=\"figure\"><h3>Capacity under the SLO{so_far}</h3>")?;
    let search = run.answer.as_ref().and_then(|answer| answer.searches.first());
    let known = search.map(|search| (search.arrivals(), search.found(Metric::Capacity)));
    match &run.capacity {
        None if is_withdrawn(run) => out.push_str(WITHDRAWN),
        None if let Some((arrivals, known)) = known.filter(|(_, known)| !known.is_unknown()) => {
            let known = known.in_words(|per_s| arrivals.load_in_words(per_s));
            write!(out, "<p class=\"big\">{known}</p><p>No load met the SLO.</p>")?;
        }
        None => {
            out.push_str("<p class=\"big\">none</p><p>No load met an SLO, or none was stated.</p>")
        }
        Some(capacity) => {
            let (known, beside) = capacity.known_in_words(search);
            write!(
                out,
                "<p class=\"big\">{known} <span>asked for</span></p>\
                 <p>{} (trial {}), {} completed{beside}</p>",
                escape(&capacity.slo),
                capacity.trial,
                capacity.arrivals().requests_in_words(capacity.completed_per_s),
            )?;
        }
    }
    out.push_str(
        "<p class=\"definition\">The highest load at which more than half of the trials \
         meet every SLO.</p></div>\n",
    );
    Ok(())
}

/// Returns true if nothing is concluded from the trials any more, for the reason that the answer gives.
fn is_withdrawn(run: &Run) -> bool {
    run.answer
        .as_ref()
        .is_some_and(|answer| answer.verdict == Verdict::NoAnswer && answer.searches.is_empty())
}

const WITHDRAWN: &str =
    "<p class=\"big\">–</p><p>Not known any more: there is no trustworthy answer.</p>";

fn so_far(run: &Run) -> &'static str {
    if run.unfinished() { " <span>so far</span>" } else { "" }
}

fn conclusions(run: &Run) -> Vec<(&'static str, String)> {
    let mut said = Vec::new();
    for reproduced in run.answer.iter().flat_map(|answer| &answer.reproducibility) {
        let shown = reproduced.warnings.iter().filter_map(|warning| match warning.code {
            Code::Timer => Some(("shape", warning)),
            Code::LowerBound | Code::Censored => Some(("spread", warning)),
            _ => None,
        });
        said.extend(shown.map(|(name, warning)| (name, reproduced.of_what() + &warning.text)));
    }
    said.extend(run.answer.iter().flat_map(|answer| habits_in_words(&answer.trials)));
    if let Some(answer) = run.answer.as_ref().filter(|_| !run.unfinished()) {
        // Each of several searches has its own limit.
        if !run.has_several() {
            let limit = answer.limited_by.clone();
            said.push(("limited by", limit.unwrap_or_else(|| without_limit(run).to_owned())));
        }
        said.push(("stopped by", answer.stopped_by.clone()));
    }
    said
}

/// The backend of a service that runs elsewhere.
const EXTERNAL: &str = "external";

/// Returns why no resource is named that limited the system.
fn without_limit(run: &Run) -> &'static str {
    match run.manifest.backend.as_str() {
        EXTERNAL => {
            "not known: nothing of the service was observed, since this run did not start it; an experiment that starts it \
             (benchwright init -- COMMAND) observes its CPU, threads, memory and connections"
        }
        _ => "no observed resource",
    }
}

fn figures(run: &Run, out: &mut String) -> std::fmt::Result {
    let figures = chart::figures(run);
    if figures.is_empty() {
        return out
            .write_str("<section><h2>Figures</h2><p>Nothing was measured yet.</p></section>\n");
    }
    out.push_str("<section><h2>Figures</h2>\n<div class=\"charts\">\n");
    for figure in figures {
        out.push_str(&figure.html());
    }
    out.push_str("</div></section>\n");
    Ok(())
}

/// Writes the tables of trials. Of many it first shows those that a reader needs to check the answer.
fn every_trial(run: &Run, out: &mut String) -> std::fmt::Result {
    out.push_str("<section><h2>Trials</h2>\n");
    let all = trials::table(run, &run.trials).html();
    match run.trials.len() {
        0..=MOST_OPEN => writeln!(out, "{all}")?,
        n => {
            let decisive: Vec<&Trial> = run.decisive().take(MOST_OPEN).collect();
            if !decisive.is_empty() {
                let more = if decisive.len() < MOST_OPEN { "" } else { " The first of them." };
                let said = "The trials on which the answer rests, and those that are not valid.";
                let table = trials::table(run, decisive).html();
                writeln!(out, "<p class=\"definition\">{said}{more}</p>\n{table}")?;
            }
            fold(out, &format!("All {}", count(n, "trial")), &all);
        }
    }
    fold(out, "Further figures of each trial, and what was found", &trials::further(run).html());
    writeln!(out, "</section>")
}

fn provenance(run: &Run, out: &mut String) -> std::fmt::Result {
    out.push_str("<section class=\"provenance\"><h2>Environment and provenance</h2>\n");
    fold(out, "Machine", &pairs(&machine(run)));
    if let Some(doctor) = &run.doctor {
        fold(out, "Checks before the run", &pairs(&checks(doctor)));
    }
    fold(out, "Run", &pairs(&identity(run)));
    let spec = match run.spec.char_indices().nth(MOST_SPEC) {
        None => run.spec.clone(),
        Some((end, _)) => format!("{}\n… the rest is in spec.yaml", &run.spec[..end]),
    };
    fold(out, "Spec, resolved", &format!("<pre>{}</pre>", escape(&spec)));
    fold(out, "Run it again", &format!("<pre>{}</pre>", escape(&commands(run))));
    out.push_str("</section>\n");
    Ok(())
}

fn machine(run: &Run) -> Vec<(String, String)> {
    let Some(environment) = &run.environment else {
        return vec![("environment.json".into(), "missing".into())];
    };
    let unknown = || "unknown".to_owned();
    let confinement = environment.confinement.clone().unwrap_or_else(unknown);
    let named =
        |what: &'static str| move |(k, v): (&String, &String)| (format!("{what} {k}"), v.clone());
    let nodes = environment.nodes.iter().flat_map(node);
    nodes
        .map(|(name, value)| (name.to_owned(), value.unwrap_or_else(unknown)))
        .chain([("confinement".to_owned(), confinement)])
        .chain(environment.roles.iter().map(named("CPUs of role")))
        .chain(environment.placement.iter().map(named("CPUs of process")))
        .chain(environment.versions.iter().map(named("version of")))
        .collect()
}

/// Returns the result of each check in words.
fn checks(doctor: &Doctor) -> Vec<(String, String)> {
    let result = |check: &Check| (check.id.clone(), format!("{}: {}", check.word(), check.value));
    let fingerprint = ("fingerprint".to_owned(), doctor.fingerprint.hash.clone());
    doctor.checks.iter().map(result).chain([fingerprint]).collect()
}

fn node(machine: &Node) -> [(&'static str, Option<String>); 12] {
    let gib = |bytes: u64| format!("{:.1} GiB", bytes as f64 / f64::from(1 << 30));
    [
        ("node", machine.name.clone()),
        ("kernel", machine.kernel.clone()),
        ("distribution", machine.distribution.clone()),
        ("architecture", Some(machine.architecture.clone())),
        ("CPU", machine.cpu_model.clone()),
        ("CPUs", Some(machine.cpus.to_string())),
        ("memory", machine.memory_bytes.map(gib)),
        ("governor", machine.governor.clone()),
        ("virtual machine", Some(if machine.hypervisor { "yes" } else { "no" }.to_owned())),
        ("clock source", machine.clock_source.clone()),
        ("load average", machine.load_average.clone()),
        ("open files limit", machine.open_files_limit.map(|n| n.to_string())),
    ]
}

fn identity(run: &Run) -> Vec<(String, String)> {
    let manifest = &run.manifest;
    let mut facts = vec![
        ("experiment".to_owned(), manifest.experiment.clone()),
        ("tool".into(), manifest.tool.clone()),
        ("layout".into(), format!("{} version {}", manifest.schema, manifest.version)),
        ("backend".into(), manifest.backend.clone()),
        ("profile".into(), manifest.profile.clone().unwrap_or_else(|| "none".into())),
        (
            "set".into(),
            if manifest.set.is_empty() { "nothing".into() } else { list(&manifest.set) },
        ),
        ("seed".into(), manifest.seed.to_string()),
        ("key".into(), manifest.key.clone()),
        ("spec’s folder".into(), manifest.spec_folder.clone()),
        ("started".into(), manifest.started_unix_s.map_or("on virtual time".into(), date)),
        ("state".into(), state(run).into()),
    ];
    let digests = manifest.binaries.iter();
    facts.extend(digests.map(|(name, digest)| (format!("SHA-256 of {name}"), digest.clone())));
    facts
}

fn state(run: &Run) -> &'static str {
    match run.manifest.state {
        State::Open => "open: running, or ended without closing",
        State::Finished => "finished",
        State::Interrupted => "interrupted",
    }
}

/// The commands to run it again, and to resume it. The resolved spec is first copied to its own
/// folder, since its relative paths begin there.
fn commands(run: &Run) -> String {
    let folder = shell::word(&run.path.display().to_string());
    let spec = shell::word(&run.path.join("spec.yaml").display().to_string());
    let again = Path::new(&run.manifest.spec_folder).join("again.yaml");
    let again = shell::word(&again.display().to_string());
    let go_on = run.answer.as_ref().and_then(|answer| answer.go_on(&folder));
    let resume = match run.unfinished() || run.manifest.state == State::Interrupted {
        true => format!("benchwright resume {folder}\n"),
        false => go_on.map_or(String::new(), |command| format!("{command}\n")),
    };
    format!("cp {spec} {again}\nbenchwright run {again}\n{resume}benchwright report {folder}")
}

fn data(run: &Run, out: &mut String) -> std::fmt::Result {
    out.push_str("<section><h2>Data</h2>\n");
    if let Some(table) = components::table(run) {
        fold(out, "Components", &table.html());
    }
    fold(out, "Gates of validity", &raw::gates(run).html());
    fold(out, "Outcomes", &raw::outcomes(run).html());
    fold(out, "Percentiles", &raw::percentiles(run).html());
    out.push_str("</section>\n");
    Ok(())
}

pub(crate) fn pairs(facts: &[(String, String)]) -> String {
    let item = |(name, value): &(String, String)| {
        format!("<dt>{}</dt><dd>{}</dd>\n", escape(name), escape(value))
    };
    format!("<dl>\n{}</dl>", facts.iter().map(item).collect::<String>())
}

/// Appends a folded section; `body` is our own markup.
pub(crate) fn fold(out: &mut String, name: &str, body: &str) {
    *out += &format!("<details><summary>{}</summary>{body}</details>\n", escape(name));
}
