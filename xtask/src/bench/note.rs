//! Findings written to docs/notes, with the machine and the versions.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::goal::Finding;
use crate::{peers, repository};

/// Adds a section; a new file begins with the title, the machine and all versions.
pub(super) fn add(
    path: &Path,
    title: &str,
    heading: &str,
    findings: &[Finding],
    closing: &[String],
) -> Result<(), String> {
    // The path is relative to the repository.
    let path = repository::root().join(path);
    let text = fs::read_to_string(&path).unwrap_or_else(|_| head(title));
    let text = format!("{text}\n{}", section(heading, findings, closing));
    fs::write(&path, text).map_err(|error| format!("writing {}: {error}", path.display()))?;
    println!("added to {}", path.display());
    Ok(())
}

fn head(title: &str) -> String {
    let read = |path| fs::read_to_string(path).unwrap_or_default();
    let cpuinfo = read("/proc/cpuinfo");
    let models: Vec<&str> = cpuinfo
        .lines()
        .filter_map(|line| line.strip_prefix("model name")?.split_once(':'))
        .map(|(_, model)| model.trim())
        .collect();
    let model = models.first().copied().unwrap_or("unknown");
    let printed =
        |program: &str, words: &[&str]| repository::first_line(Command::new(program).args(words));
    let ours = printed("git", &["describe", "--always", "--dirty"]);
    let mut versions = vec![format!("benchwright {} at {ours}", env!("CARGO_PKG_VERSION"))];
    versions.extend([printed("rustc", &["--version"]), printed("nginx", &["-v"])]);
    versions.extend(peers::versions());
    format!(
        "# {title}\n\n{} · {} × {model}, Linux {} · release profile\n\n{}\n",
        printed("date", &["--iso-8601"]),
        models.len(),
        read("/proc/sys/kernel/osrelease").trim(),
        versions.join(" · "),
    )
}

fn section(heading: &str, findings: &[Finding], closing: &[String]) -> String {
    let mut text =
        format!("## {heading}\n\n| what | median (range) | goal | other figures | each |\n");
    text.push_str("|---|---|---|---|---|\n");
    for finding in findings {
        let Finding { what, figures, beside, .. } = finding;
        let (summary, verdict) = (finding.summary(), finding.verdict());
        let each: Vec<String> = figures.iter().map(|figure| format!("{figure:.3}")).collect();
        let each = each.join(" ");
        text.push_str(&format!("| {what} | {summary} | {verdict} | {beside} | {each} |\n"));
    }
    closing.iter().for_each(|line| text.push_str(&format!("\n{line}\n")));
    text
}
