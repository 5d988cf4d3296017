//! The commands that README, the book and the comments of experiments show are ones that the command line takes.

use std::ffi::OsString;
use std::fs;
use std::path::Path;

use clap::error::ErrorKind;
use expect_test::expect;

use crate::cli;
use crate::command::ycsb::original::rewritten;

/// A place on a page, and a command there.
#[derive(Debug)]
struct Shown {
    place: String,
    words: Vec<String>,
    /// True if it is all that a user would type; false for one in a sentence, which may leave out arguments.
    is_whole: bool,
}

/// The folders and files whose commands are checked.
const PAGES: [&str; 5] =
    ["README.md", "CONTRIBUTING.md", "docs/book", "experiments", "testbed/README.md"];

/// Returns every document with its path from the workspace's folder.
fn documents() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut paths = Vec::new();
    for page in PAGES {
        match fs::read_dir(root.join(page)) {
            Err(_) => paths.push(page.to_owned()),
            Ok(files) => {
                let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
                let is_text = |name: &String| name.ends_with(".md") || name.ends_with(".yaml");
                paths.extend(names.filter(is_text).map(|name| format!("{page}/{name}")));
            }
        }
    }
    paths.sort();
    let text = |path: &String| fs::read_to_string(root.join(path)).unwrap();
    paths.iter().map(|path| (path.clone(), text(path))).collect()
}

/// Returns the commands of a document: of its blocks of shell, of terminals (`$ …`), and of its sentences.
fn shown(path: &str, text: &str) -> Vec<Shown> {
    match path.ends_with(".yaml") {
        true => commented(path, text),
        false => written(path, text),
    }
}

/// Returns the commands in the comments of an experiment, which stand on lines of their own.
fn commented(path: &str, text: &str) -> Vec<Shown> {
    let comments = text.lines().enumerate().filter_map(|(index, line)| {
        Some((index, line.trim_start().strip_prefix("#   ")?.trim_start()))
    });
    comments.flat_map(|(index, line)| of_shell(path, index, line)).collect()
}

fn written(path: &str, text: &str) -> Vec<Shown> {
    let (mut found, mut prose, mut line_of_shell) = (Vec::new(), String::new(), String::new());
    let (mut fence, mut begun) = (None, 0);
    for (index, line) in text.lines().enumerate() {
        let trimmed = line.trim();
        match (fence, trimmed.strip_prefix("```")) {
            (None, Some(language)) => fence = Some(language),
            (Some(_), Some(_)) => fence = None,
            (Some("sh"), None) => match trimmed.strip_suffix('\\') {
                Some(part) => line_of_shell += part,
                None => {
                    line_of_shell += trimmed;
                    found.extend(of_shell(path, index, &line_of_shell));
                    line_of_shell.clear();
                }
            },
            (Some(_), None) => {
                found.extend(
                    trimmed
                        .strip_prefix("$ ")
                        .into_iter()
                        .flat_map(|line| of_shell(path, index, line)),
                );
            }
            (None, None) => {
                if trimmed.is_empty() || line.starts_with('|') {
                    found.extend(of_prose(path, begun, &prose));
                    prose.clear();
                }
                if prose.is_empty() {
                    begun = index;
                }
                prose.push_str(line);
                prose.push(' ');
            }
        }
    }
    found.extend(of_prose(path, begun, &prose));
    found
}

/// Returns the commands in the code of a paragraph, or of a row of a table.
fn of_prose(path: &str, index: usize, paragraph: &str) -> Vec<Shown> {
    let code = paragraph.split('`').skip(1).step_by(2);
    let spans = code.filter(|code| code.starts_with("benchwright "));
    spans.flat_map(commands).map(|words| Shown::at(path, index, words, false)).collect()
}

fn of_shell(path: &str, index: usize, line: &str) -> Vec<Shown> {
    commands(line).into_iter().map(|words| Shown::at(path, index, words, true)).collect()
}

/// Returns our commands in a line of shell, each without the program's name.
fn commands(line: &str) -> Vec<Vec<String>> {
    let mut commands = vec![Vec::new()];
    for word in words(line) {
        let is_operator = ["|", "||", "&", "&&", ";", ">", ">>"].contains(&word.as_str());
        let is_ours = word == "benchwright" || word.ends_with("/benchwright");
        match commands.last_mut() {
            _ if is_operator => commands.push(Vec::new()),
            // Also one that another command starts: `sudo benchwright`, `doctor --fix -- benchwright run`.
            _ if is_ours => commands.push(vec!["benchwright".to_owned()]),
            Some(command) if !command.is_empty() => command.push(word),
            _ => {}
        }
    }
    commands.into_iter().filter(|command| 1 < command.len()).collect()
}

/// Splits a line as a shell does, up to its comment; an operator is a word.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    for c in line.chars() {
        match (quote, c) {
            (Some(end), c) if end == c => quote = None,
            (Some(_), c) => word.get_or_insert_default().push(c),
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, '#') if word.is_none() => break,
            (None, ' ') => words.extend(word.take()),
            (None, ';' | ')') => {
                words.extend(word.take());
                words.push(";".to_owned());
            }
            (None, c) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

impl Shown {
    fn at(path: &str, index: usize, words: Vec<String>, is_whole: bool) -> Shown {
        let has_gap = words.iter().any(|word| word.contains('…'));
        // As for the arguments of a process.
        let words = rewritten(words.into_iter().map(OsString::from)).into_iter();
        let words = words.map(|word| word.into_string().unwrap()).collect();
        Shown { place: format!("{path}:{}", index + 1), words, is_whole: is_whole && !has_gap }
    }

    /// Returns the reason why the command line does not take it.
    fn refusal(&self) -> Option<String> {
        let why = match self.is_whole {
            true => refused(&self.words),
            false => unknown(&self.words),
        };
        why.map(|why| format!("{}: `{}`: {why}", self.place, self.words.join(" ")))
    }
}

/// Returns the first line of the message with which the parser refuses a command.
fn refused(words: &[String]) -> Option<String> {
    let error = cli::command().try_get_matches_from(words).err()?;
    let is_help = [ErrorKind::DisplayHelp, ErrorKind::DisplayVersion].contains(&error.kind());
    (!is_help).then(|| error.to_string().lines().next().unwrap_or_default().to_owned())
}

/// Returns a name in a command that does not exist: of a command or of an option.
fn unknown(words: &[String]) -> Option<String> {
    let root = cli::command();
    let mut command = &root;
    if words[1] == "help" {
        return None;
    }
    // What follows these is read by another program.
    let foreign = |name: &str| ["app", "wrk", "wrk2"].contains(&name);
    for word in words[1..].iter().take_while(|word| *word != "--") {
        let option =
            word.strip_prefix("--").map(|option| option.split('=').next().unwrap_or_default());
        match (option, command.find_subcommand(word)) {
            (None, _) if foreign(command.get_name()) => return None,
            (None, Some(found)) => command = found,
            (None, None) => {
                let is_name = word.chars().all(|c| c.is_ascii_lowercase() || c == '-');
                if command.has_subcommands() && is_name {
                    return Some(format!("there is no command `{word}`"));
                }
            }
            (Some("help" | "version"), _) => {}
            (Some(option), _) => {
                let is_known =
                    command.get_arguments().any(|argument| argument.get_long() == Some(option));
                if !is_known && !foreign(command.get_name()) {
                    return Some(format!("there is no `--{option}`"));
                }
            }
        }
    }
    None
}

#[test]
fn every_command_of_the_documents_is_taken() {
    let documents = documents();
    let commands: Vec<Shown> =
        documents.iter().flat_map(|(path, text)| shown(path, text)).collect();
    let refusals: Vec<String> = commands.iter().filter_map(Shown::refusal).collect();
    assert!(refusals.is_empty(), "the command line does not take:\n{}", refusals.join("\n"));
    // So many are found, or the reader of the documents is broken.
    let whole = commands.iter().filter(|command| command.is_whole).count();
    assert!(40 <= whole && 100 <= commands.len(), "{whole} of {} commands", commands.len());
}

#[test]
fn a_command_that_is_not_taken_is_found_with_its_place() {
    let page = "\
Ask `benchwright laod URL` or `benchwright load URL --rote 5/s`, and
`benchwright load
--rate 5/s` is fine, as `benchwright app shop --any` and `benchwright help COMMAND` are.

```sh
sudo target/release/benchwright run a.yaml --profil ci   # a comment
benchwright list | jq '.runs; --x' && benchwright load http://h/ \\
  --rate 5
benchwright doctor --fix -- benchwright run
```

```text
$ benchwright compare a b --markdwon
benchwright is not a command here
```
";
    let found: Vec<String> = shown("a.md", page).iter().filter_map(Shown::refusal).collect();
    expect![[r#"
        a.md:1: `benchwright laod URL`: there is no command `laod`
        a.md:1: `benchwright load URL --rote 5/s`: there is no `--rote`
        a.md:6: `benchwright run a.yaml --profil ci`: error: unexpected argument '--profil' found
        a.md:8: `benchwright load http://h/ --rate 5`: error: invalid value '5' for '--rate <RATE>': `5` is not a valid rate; write for example 5/s
        a.md:9: `benchwright run`: error: the following required arguments were not provided:
        a.md:13: `benchwright compare a b --markdwon`: error: unexpected argument '--markdwon' found"#]].assert_eq(&found.join("\n"));
    let comment = "# Text about benchwright run.\n#   benchwright run a.yaml --sot x=1\nname: x\n";
    let found: Vec<String> = shown("a.yaml", comment).iter().filter_map(Shown::refusal).collect();
    expect![
        "a.yaml:2: `benchwright run a.yaml --sot x=1`: error: unexpected argument '--sot' found"
    ]
    .assert_eq(&found.join("\n"));
}
