//! The check that the book is whole: its contents and its index page list every page, and nothing else.

use super::Finding;
use super::tree::{File, Tree};

/// The folder of the book.
const FOLDER: &str = "docs/book/";
/// The contents, by which mdBook builds the book, and the index page, which says what each page is for.
const SUMMARY: &str = "SUMMARY.md";
const INDEX: &str = "README.md";

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let pages: Vec<&str> = tree.files().iter().filter_map(page).collect();
    if pages.is_empty() {
        return Vec::new();
    }
    let lists = [(SUMMARY, INDEX), (INDEX, "")];
    lists.iter().flat_map(|(list, also)| of_list(tree, list, also, &pages)).collect()
}

/// Returns the name of a page of the book.
fn page(file: &File) -> Option<&str> {
    let name = file.path.strip_prefix(FOLDER)?;
    (name.ends_with(".md") && !name.contains('/') && ![SUMMARY, INDEX].contains(&name))
        .then_some(name)
}

/// Checks that a list has each page once; `also` is one that it has, too.
fn of_list(tree: &Tree, list: &str, also: &str, pages: &[&str]) -> Vec<Finding> {
    let path = format!("{FOLDER}{list}");
    let Some(file) = tree.file(&path) else {
        return vec![Finding::new(path, "is missing: it lists the pages of the book")];
    };
    let linked: Vec<&str> = file.lines().flat_map(|(_, line)| links(line)).collect();
    let wanted = pages.iter().copied().chain([also].into_iter().filter(|also| !also.is_empty()));
    let mut findings = Vec::new();
    for page in wanted {
        match linked.iter().filter(|link| **link == page).count() {
            1 => {}
            0 => findings.push(Finding::new(&path, format!("does not list {page}"))),
            n => findings.push(Finding::new(&path, format!("lists {page} {n} times"))),
        }
    }
    findings
}

/// Returns the pages to which a line links as a whole.
fn links(line: &str) -> impl Iterator<Item = &str> {
    line.split("](").skip(1).filter_map(|rest| rest.split(')').next())
}
