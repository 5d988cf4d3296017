//! The book as pages with a search, built by mdBook.
//!
//! Pages link to files outside of the book: experiments, notes, the documents of the project. So the book is built
//! from a copy in which all of these are where they are in the repository, and its contents list them, too.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::{repository, tools};

#[cfg(test)]
mod tests;

const BOOK: &str = "docs/book";
const SUMMARY: &str = "SUMMARY.md";

/// The files and folders to which pages link.
const COPIED: [&str; 8] = [
    "docs",
    "experiments",
    "deploy",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "STYLE.md",
    "SECURITY.md",
    "CHANGELOG.md",
];

/// The page at the root: mdBook would put the first page there, whose links begin in its own folder.
const ROOT: &str = "<!doctype html>\n<meta charset=\"utf-8\">\n<title>Benchwright</title>\n\
                    <meta http-equiv=\"refresh\" content=\"0; url=docs/book/index.html\">\n\
                    <a href=\"docs/book/index.html\">Benchwright</a>\n";

/// Builds the book; returns true if that succeeded.
pub(crate) fn build() -> bool {
    if !tools::has_program("mdbook") {
        eprintln!(
            "error: the program `mdbook` is missing; install it: cargo install mdbook --locked"
        );
        return false;
    }
    match built() {
        Ok(index) => {
            println!("{index}");
            true
        }
        Err(why) => {
            eprintln!("error: {why}");
            false
        }
    }
}

fn built() -> Result<String, String> {
    let (root, folder) = (repository::root(), repository::target().join("book"));
    let (source, html) = (folder.join("src"), folder.join("html"));
    // Also what an earlier build left of pages that are gone.
    if folder.exists() {
        fs::remove_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    }
    fs::create_dir_all(&source).map_err(|error| format!("{}: {error}", source.display()))?;
    // Charts share a folder by a link.
    let mut copy = Command::new("cp");
    copy.arg("-rL").args(COPIED).arg(&source).current_dir(&root);
    if !repository::succeeds(&mut copy) {
        return Err("the documents could not be copied".to_owned());
    }
    let read =
        |path: &Path| fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()));
    let write = |path: &Path, text: &str| {
        fs::write(path, text).map_err(|e| format!("{}: {e}", path.display()))
    };
    let notes = names(&root.join("docs/notes"))?;
    let summary = read(&root.join(BOOK).join(SUMMARY))?;
    write(&source.join(SUMMARY), &whole(&summary, &notes))?;
    let settings = read(&root.join(BOOK).join("book.toml"))?;
    write(&folder.join("book.toml"), &settings.replace("src = \".\"", "src = \"src\""))?;
    let mut mdbook = Command::new("mdbook");
    mdbook.arg("build").arg(&folder).arg("--dest-dir").arg(&html);
    if !repository::succeeds(&mut mdbook) {
        return Err("mdbook could not build the book".to_owned());
    }
    let index = html.join("index.html");
    write(&index, ROOT)?;
    Ok(index.display().to_string())
}

/// Returns the names of the notes, the newest first.
fn names(folder: &Path) -> Result<Vec<String>, String> {
    let files = fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut names: Vec<String> =
        files.flatten().filter_map(|file| file.file_name().into_string().ok()).collect();
    names.retain(|name| name.ends_with(".md"));
    names.sort_by(|a, b| b.cmp(a));
    Ok(names)
}

/// Returns the contents of the copy: the pages of the book at their place in the repository, and then the documents
/// to which they link.
fn whole(summary: &str, notes: &[String]) -> String {
    let mut whole = summary.replace("](", &format!("]({BOOK}/"));
    whole += "\n# The project\n\n- [Experiments](experiments/README.md)\n";
    for file in COPIED.iter().filter_map(|file| file.strip_suffix(".md")) {
        whole += &format!("- [{}]({file}.md)\n", titled(file));
    }
    whole += "\n# Notes\n\n";
    for note in notes {
        let name = note.trim_end_matches(".md");
        whole += &format!("- [{name}](docs/notes/{note})\n");
    }
    whole
}

/// Returns a name in capital letters as a title.
fn titled(name: &str) -> String {
    name[..1].to_owned() + &name[1..].to_lowercase()
}
