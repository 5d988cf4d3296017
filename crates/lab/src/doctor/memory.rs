//! The checks of memory: 10 and 11.

use results::doctor::Severity::{Error, Warning};

use super::found::Found;
use super::seen::{Seen, field};

/// Returns the chosen word of a file that lists all: `always [madvise] never`.
pub(super) fn chosen(text: &str) -> &str {
    let inside = text.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    inside.map_or(text, |(word, _)| word)
}

/// Check 10: the kernel neither merges pages nor makes them huge unasked.
pub(super) fn huge_pages(seen: &Seen<'_>) -> Found {
    let (huge, ksm) = ("sys/kernel/mm/transparent_hugepage/enabled", "sys/kernel/mm/ksm/run");
    let mut found = Found::new("madvise or never; KSM off", format!("/{huge}, /{ksm}"));
    let remedy = "`benchwright doctor --fix`";
    let mut values = Vec::new();
    match seen.text(huge).map(chosen) {
        None => seen.unread(&mut found, huge),
        Some(word) => {
            found.record("transparent huge pages", word);
            if word == "always" {
                let text = "huge pages always: making them stops a process for milliseconds";
                found.bad(None, Warning, text, remedy);
            }
            values.push(word.to_owned());
        }
    }
    match seen.text(ksm) {
        // A kernel without it merges nothing.
        None => {}
        Some(run) => {
            found.record("KSM", run);
            if run == "1" {
                found.bad(None, Warning, "KSM merges pages: writing to one copies it", remedy);
            }
            values.push("KSM off".to_owned());
        }
    }
    found.with(values.join(", "))
}

/// Check 11: nothing is read back from the swap.
pub(super) fn swap(seen: &Seen<'_>) -> Found {
    let file = "proc/vmstat";
    let mut found = Found::new("nothing swapped in", format!("/{file}: pswpin"));
    let read = |look: &super::Look| field(look.files.text(file)?, "pswpin");
    if read(seen.now).is_none() {
        seen.unread(&mut found, file);
        return found;
    }
    match seen.growth(read) {
        None => seen.single(&mut found),
        Some(0) => {}
        Some(pages) => {
            let text = format!("{pages} pages were swapped in {}", seen.period());
            found.bad(None, Error, text, "free memory, or `swapoff -a`");
        }
    }
    found.with(format!("no page {}", seen.period()))
}
