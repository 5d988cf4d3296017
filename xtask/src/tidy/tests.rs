use super::*;
use crate::pictures::Run;

const TABLE: &str = "\
# Architecture

| crate | may use (ours) | outside dependencies | unsafe |
|---|---|---|---|
| `base` | – | – | forbid |
| `net` | `base` | `libc` | `crates/net/src/lib.rs` |
| `xtask` | – | – | deny |
";

const BASE: &str = "\
[package]
name = \"base\"
license.workspace = true

[lints]
workspace = true

[dev-dependencies]
tempfile.workspace = true
";

const NET: &str = "\
[package]
name = \"net\"
license.workspace = true

[lints]
workspace = true

[dependencies]
base.workspace = true
libc = { workspace = true, features = [
    \"extra\",
] }
";

const XTASK: &str = "\
[package]
name = \"xtask\"
license.workspace = true

[lints]
workspace = true
";

/// A tree without findings.
const ORDER: [(&str, &str); 9] = [
    ("ARCHITECTURE.md", TABLE),
    ("Cargo.toml", "[workspace.package]\nlicense = \"Apache-2.0\"\n"),
    ("LICENSE", "Apache License\n"),
    ("crates/base/Cargo.toml", BASE),
    ("crates/base/src/lib.rs", "#![forbid(unsafe_code)]\n"),
    ("crates/net/Cargo.toml", NET),
    ("crates/net/src/lib.rs", concat!("#![expect(", "unsafe_code, reason = \"calls\")]\n")),
    ("experiments/hello.yaml", "name: hello\nprofiles:\n  ci:\n    budget: 1\n  long: {}\nx: 1\n"),
    ("xtask/Cargo.toml", XTASK),
];

/// Returns the findings in the tree above with this text at `path`.
fn findings(path: &str, text: &str) -> Vec<String> {
    let mut files: Vec<(&str, &str)> =
        ORDER.into_iter().filter(|(other, _)| *other != path).collect();
    files.push((path, text));
    check(&Tree::of(&files)).iter().map(Finding::to_string).collect()
}

#[test]
fn this_repository_is_in_order() {
    let tree = Tree::read(&repository::root()).unwrap();
    let findings: Vec<String> = check(&tree).iter().map(Finding::to_string).collect();
    assert!(findings.is_empty(), "\n{}\n", findings.join("\n"));
}

#[test]
fn nothing_is_found_where_all_is_in_order() {
    assert_eq!(check(&Tree::of(&ORDER)), []);
}

#[test]
fn a_dependency_of_ours_that_leaves_the_layer_table_is_found() {
    assert_eq!(
        findings(
            "crates/base/Cargo.toml",
            &format!("{BASE}[dependencies]\nnet.workspace = true\n")
        ),
        ["crates/base/Cargo.toml: base may not use `net`: ARCHITECTURE.md allows nothing of ours"]
    );
}

#[test]
fn a_lock_file_of_the_fuzz_targets_that_lacks_a_dependency_is_found() {
    let lock = |dependencies: &str| {
        let base = "[[package]]\nname = \"base\"\nversion = \"0.1.0\"\n";
        let net = format!(
            "[[package]]\nname = \"net\"\nversion = \"0.1.0\"\ndependencies = [\n{dependencies}]\n"
        );
        findings("fuzz/Cargo.lock", &format!("{base}\n{net}"))
    };
    assert!(lock(" \"base\",\n \"libc 0.2.1\",\n").is_empty());
    assert_eq!(
        lock(" \"base\",\n"),
        ["fuzz/Cargo.lock: `net` differs in libc from its manifest: run `cargo metadata \
          --manifest-path fuzz/Cargo.toml`"]
    );
}

#[test]
fn an_application_that_uses_another_is_found() {
    let tree = |text| {
        let kit = ("crates/apps/src/kit/serve.rs", "use crate::hotel_like;\nuse crate::hotel;\n");
        let hotel = ("crates/apps/src/hotel/mod.rs", "use crate::kit::serve;\nuse crate::hotel;\n");
        Tree::of(&[kit, hotel, ("crates/apps/src/shop/mod.rs", text)])
    };
    let found = |text| -> Vec<String> {
        rooms::check(&tree(text)).iter().map(Finding::to_string).collect()
    };
    let of_kit = "crates/apps/src/kit/serve.rs:2: kit may not use `hotel`: applications share only \
        the kit";
    let of_shop = "crates/apps/src/shop/mod.rs:1: shop may not use `hotel`: applications share \
        only the kit";
    assert_eq!(found("use crate::kit::serve;\n"), [of_kit]);
    assert_eq!(found("type Room = crate::hotel::api::geo::Geo;\n"), [of_kit, of_shop]);
}

#[test]
fn modules_that_use_each_other_are_found_and_their_tests_may() {
    let found = |spec| -> Vec<String> {
        let tree = Tree::of(&[
            ("crates/lab/src/lib.rs", "pub use crate::plan::Plan;\n"),
            ("crates/lab/src/spec/read.rs", spec),
            ("crates/lab/src/spec/read/tests.rs", "use crate::plan;\n"),
            ("crates/lab/src/search.rs", "use crate::spec::{self, Search};\n"),
            ("crates/lab/src/plan.rs", "use crate::{\n    Error, search::{self, Next},\n};\n"),
        ]);
        floors::check(&tree).iter().map(Finding::to_string).collect()
    };
    assert_eq!(found("// crate::plan is above.\nuse crate::spec::Spec;\n"), [""; 0]);
    let circle = found("use std::fs;\nfn f() -> crate::plan::Plan {}\n");
    assert_eq!(circle.len(), 3, "{circle:?}");
    let begin = "crates/lab/src/spec/read.rs:2: `spec` uses `plan`, which uses `spec`, directly";
    assert!(circle.iter().any(|line| line.starts_with(begin)), "{circle:?}");
}

/// Returns the modules of a crate that are found to use one above them, each with that one.
fn upward(files: &[(&str, &str)]) -> Vec<String> {
    let of = |finding: &Finding| finding.what.split(", which").next().unwrap().replace('`', "");
    floors::check(&Tree::of(files)).iter().map(of).collect()
}

#[test]
fn a_use_by_way_of_the_modules_above_is_seen() {
    let uses = |high: &str, low: &str, deep: &str| {
        upward(&[
            ("crates/new/src/lib.rs", "mod high;\nmod low;\n"),
            ("crates/new/src/high.rs", high),
            ("crates/new/src/low/mod.rs", low),
            ("crates/new/src/low/deep.rs", deep),
        ])
    };
    let circle = ["high uses low", "low uses high"];
    assert_eq!(uses("use super::low::X;\n", "use super::high::Y;\n", ""), circle);
    assert_eq!(uses("use super::low::X;\n", "", "use super::super::{high::Y, low};\n"), circle);
    let inside = "mod inside {\n    use super::super::high::Y;\n}\n";
    assert_eq!(uses("use crate::low::X;\n", inside, ""), circle);
    // This `high` is a part of `low`.
    assert_eq!(uses("use super::low::X;\n", "", "use super::high::Y;\n"), [""; 0]);
    assert_eq!(uses("use super::low::X;\n", "pub(in super::super) fn f() {}\n", ""), [""; 0]);
}

#[test]
fn a_use_by_a_name_that_the_root_takes_from_a_module_is_seen() {
    let uses = |root: &str, low: &str| {
        let high = ("crates/new/src/high.rs", "use crate::low;\n");
        upward(&[("crates/new/src/lib.rs", root), high, ("crates/new/src/low.rs", low)])
    };
    let circle = ["high uses low", "low uses high"];
    for root in [
        "pub use high::Y;\n",
        "use crate::high::inner::{X, Y};\n",
        "pub(crate) use self::high::{X, inner::{Z as Y}};\n",
        "use {std::fmt, high::Y};\n",
    ] {
        assert_eq!(uses(root, "use crate::Y;\n"), circle, "{root}");
        assert_eq!(uses(root, "fn f() -> super::Y {}\n"), circle, "{root}");
        assert_eq!(uses(root, "use crate::other::Y;\n"), [""; 0], "{root}");
    }
    assert_eq!(uses("use other::Y;\nuse low::{high, X};\n", "use crate::{X, Y};\n"), [""; 0]);
    let all = ["takes all of high: list the names, so that their uses are seen"];
    assert_eq!(uses("pub use high::*;\n", "use crate::Y;\n"), all);
}

#[test]
fn the_root_of_a_crate_defines_nothing() {
    let found =
        |root: &str| upward(&[("crates/new/src/lib.rs", root), ("crates/new/src/low.rs", "")]);
    let clean = "//! A crate.\n#![forbid(unsafe_code)]\n\nmod low;\n#[cfg(test)]\nmod tests;\n\npub use low::{\n    A,\n};\n";
    assert_eq!(found(clean), [""; 0]);
    for item in [
        "struct A;",
        "pub(crate) fn f() {}",
        "pub const A: u8 = 1;",
        "impl A {}",
        "macro_rules! m { () => {} }",
        "pub mod inside {\n    struct A;\n}",
    ] {
        let findings = found(&format!("{clean}{item}\n"));
        assert!(
            findings.len() == 1 && findings[0].starts_with("defines an item"),
            "{item}: {findings:?}"
        );
    }
}

#[test]
fn an_outside_dependency_that_is_not_listed_is_found_in_every_spelling() {
    for spelling in [
        "[dependencies]\nserde.workspace = true",
        "[dependencies]\nserde = \"1\"",
        "[dependencies]\n\"serde\" = { version = \"1\" }",
        "[dependencies.serde]\nversion = \"1\"",
        "[target.'cfg(unix)'.dependencies]\nserde.workspace = true",
        "[target.'cfg(unix)'.dependencies.serde]\nworkspace = true",
        "[build-dependencies]\nserde.workspace = true",
    ] {
        assert_eq!(
            findings("crates/base/Cargo.toml", &format!("{BASE}{spelling}\n")),
            ["crates/base/Cargo.toml: base uses `serde`, which ARCHITECTURE.md does not list"],
            "{spelling}"
        );
    }
}

#[test]
fn a_listed_dependency_that_is_not_used_is_found() {
    assert_eq!(
        findings("crates/net/Cargo.toml", NET.split("libc").next().unwrap()),
        ["ARCHITECTURE.md:6: net does not use `libc`: take it out of the table"]
    );
}

#[test]
fn the_crates_of_the_table_are_those_that_exist() {
    let without = TABLE.replace("| `base` | – | – | forbid |\n", "| kv | – | – | deny |\n");
    assert_eq!(
        findings("ARCHITECTURE.md", &without),
        [
            "ARCHITECTURE.md:5: there is no crate `kv`",
            "crates/base/Cargo.toml: is not in the layer table",
        ]
    );
}

#[test]
fn a_document_without_the_table_is_found() {
    let found = findings("ARCHITECTURE.md", "# Architecture\n");
    assert!(found[0].starts_with("ARCHITECTURE.md: has no layer table"), "{found:?}");
}

#[test]
fn unsafe_code_is_only_where_the_table_lists_it() {
    let lifting = concat!("#![forbid(unsafe_code)]\n#[expect(", "unsafe_code, reason = \"?\")]\n");
    assert_eq!(
        findings("crates/base/src/lib.rs", lifting),
        ["crates/base/src/lib.rs: lifts `unsafe_code`, which ARCHITECTURE.md does not list"]
    );
    assert_eq!(
        findings("crates/base/src/lib.rs", "//! Nothing.\n"),
        ["crates/base/src/lib.rs: must contain `#![forbid(unsafe_code)]`"]
    );
    let expected = "ARCHITECTURE.md:6: crates/net/src/lib.rs does not lift `unsafe_code`: \
                    take it out of the table";
    assert_eq!(findings("crates/net/src/lib.rs", "//! Nothing.\n"), [expected]);
}

#[test]
fn an_attribute_in_several_lines_lifts_all_the_same() {
    let lifting = concat!("#[expect(\n    ", "unsafe_code,\n    reason = \"calls\"\n)]\n");
    assert_eq!(findings("crates/net/src/lib.rs", lifting), [""; 0]);
    assert_eq!(
        findings("xtask/src/main.rs", lifting),
        ["xtask/src/main.rs: lifts `unsafe_code`, which ARCHITECTURE.md does not list"]
    );
}

#[test]
fn a_word_that_the_last_column_does_not_know_is_found() {
    assert_eq!(
        findings("ARCHITECTURE.md", &TABLE.replace("forbid", "forbidden")),
        ["ARCHITECTURE.md:5: forbidden does not lift `unsafe_code`: take it out of the table"]
    );
}

#[test]
fn a_package_without_a_license_or_outside_the_lints_is_found() {
    assert_eq!(
        findings("xtask/Cargo.toml", "[package]\nname = \"xtask\"\n"),
        [
            "xtask/Cargo.toml: [package] must contain `license`: `workspace = true`",
            "xtask/Cargo.toml: [lints] must contain `workspace`: `true`",
        ]
    );
}

#[test]
fn a_document_that_names_a_file_which_does_not_exist_is_found() {
    assert_eq!(
        findings("README.md", "See `crates/net/src/lib.rs`\nand `crates/net/src/gone.rs`.\n"),
        ["README.md:2: there is no `crates/net/src/gone.rs`"]
    );
    assert_eq!(
        findings("README.md", "```sh\ntarget/x.sh && benchwright run experiments/gone.yaml\n```\n"),
        ["README.md:2: there is no `experiments/gone.yaml`"]
    );
}

#[test]
fn words_that_cannot_be_paths_of_ours_are_not_checked() {
    let text = "`text/html`, `http://a/b.html`, `trials/<number>/load.json`, `/etc/hosts.txt`, \
                `10/s`, `1.5/2.5`, `lib.rs`, and crates/gone.rs in prose\n";
    assert_eq!(findings("README.md", text), [""; 0]);
}

#[test]
fn a_link_that_leads_nowhere_is_found() {
    let text = "[a](../LICENSE) [b](../crates/net) [c](https://example.org/x) [d](#here)\n\
                # Here\n\
                [e](gone.md) [f](../ARCHITECTURE.md#architecture) [g](#there) [h](../../x.md)\n";
    assert_eq!(
        findings("docs/guide.md", text),
        [
            "docs/guide.md:3: the link `gone.md` leads nowhere",
            "docs/guide.md:3: the link `#there` leads nowhere",
            "docs/guide.md:3: the link `../../x.md` leads nowhere",
        ]
    );
}

#[test]
fn a_spec_that_does_not_plan_is_found_with_the_message() {
    let refuse = |_: &str, profile: Option<&str>| match profile {
        Some("long") => Err("unknown field `budgte`".to_owned()),
        _ => Ok(()),
    };
    assert_eq!(
        specs::check(&Tree::of(&ORDER), refuse),
        [Finding::new(
            "experiments/hello.yaml",
            "does not plan with profile long:\nunknown field `budgte`"
        )]
    );
}

#[test]
fn a_spec_is_planned_without_a_profile_and_with_each_profile() {
    let asked = std::cell::RefCell::new(Vec::new());
    specs::check(&Tree::of(&ORDER), |spec, profile| {
        asked.borrow_mut().push(format!("{spec} {profile:?}"));
        Ok(())
    });
    assert_eq!(
        asked.into_inner(),
        [
            "experiments/hello.yaml None",
            "experiments/hello.yaml Some(\"ci\")",
            "experiments/hello.yaml Some(\"long\")",
        ]
    );
}

#[test]
fn code_that_is_unfinished_silenced_or_bound_to_one_machine_is_found() {
    for (line, expected) in [
        (concat!("    todo", "!()"), "finish it, or leave it out"),
        (concat!("#[", "ignore]"), "see CONTRIBUTING.md"),
        (concat!("#[", "allow(dead_code)]"), "use #[expect("),
        (concat!("let x = \"/", "home/me/x\";"), "is one machine's"),
    ] {
        let found = findings("crates/net/src/x.rs", line);
        assert_eq!(found.len(), 1, "{line} {found:?}");
        assert!(found[0].starts_with("crates/net/src/x.rs:1: "), "{found:?}");
        assert!(found[0].contains(expected), "{found:?}");
    }
    assert_eq!(
        findings("crates/net/src/x.rs", concat!("https://host/", "home/x ../", "work/x")),
        [""; 0]
    );
}

#[test]
fn a_refusal_with_is_no_is_found_except_in_notes_and_the_change_log() {
    let refusals =
        [concat!("Write \"`5000` is", " no rate\"."), concat!("Write \"{text} is", " no rate\".")];
    for line in refusals {
        for path in ["crates/net/src/x.rs", "docs/guide.md"] {
            let what = "a refusal with `is no`: write `is not a` or `is not a valid`";
            assert_eq!(findings(path, line), [format!("{path}:1: {what}")]);
        }
        for path in ["docs/notes/guide.md", "CHANGELOG.md", "docs/guide.yaml"] {
            assert_eq!(findings(path, line), [""; 0], "{path}");
        }
    }
    let fine = "There is no `x`, and `5000` is not a valid rate.\n";
    assert_eq!(findings("docs/guide.md", fine), [""; 0]);
}

#[test]
fn a_doc_comment_that_begins_with_a_question_word_is_found() {
    let what =
        |word: &str| format!("a doc comment with `{word}`: begin with what the item is or does");
    for (text, line, word) in [
        ("/// Who waits.\n", 1, "Who"),
        ("    /// What waits.\n", 1, "What"),
        ("//! Who waits.\n", 1, "Who"),
        ("//! What waits.\n", 1, "What"),
        ("//! The waiting.\n/// What waits.\n", 2, "What"),
    ] {
        let expected = format!("crates/net/src/x.rs:{line}: {}", what(word));
        assert_eq!(findings("crates/net/src/x.rs", text), [expected]);
    }
    // Later lines of a doc comment and other comments may begin so, and so may documents.
    let fine = "//! The waiting.\n//! What waits.\n\n/// Waits.\n/// Who waits.\n// What waits.\n";
    assert_eq!(findings("crates/net/src/x.rs", fine), [""; 0]);
    assert_eq!(findings("docs/guide.md", "/// What waits.\n"), [""; 0]);
}

#[test]
fn a_space_at_the_end_of_a_line_is_found() {
    assert_eq!(
        findings("docs/guide.md", "One.\nTwo. \n"),
        ["docs/guide.md:2: space at the end of the line"]
    );
}

#[test]
fn a_file_that_is_too_long_or_too_large_is_found() {
    assert_eq!(
        findings("crates/net/src/x.rs", &"\n".repeat(901)),
        ["crates/net/src/x.rs: has 901 lines, over 900: is it one thing?"]
    );
    assert_eq!(
        findings("docs/picture.png", &"x".repeat((1 << 20) + 1)),
        ["docs/picture.png: has 1048577 bytes, over 1 MiB"]
    );
}

#[test]
fn a_missing_license_is_found() {
    let files: Vec<(&str, &str)> =
        ORDER.into_iter().filter(|(path, _)| *path != "LICENSE").collect();
    assert_eq!(check(&Tree::of(&files)), [Finding::new("LICENSE", "is missing")]);
}

#[test]
fn generated_code_that_differs_from_its_source_is_found() {
    let committed = Tree::of(&[
        ("crates/apps/generated/shop/cart.rs", "struct Old;\n"),
        ("crates/apps/generated/shop/gone.rs", ""),
        ("crates/apps/generated/shop/mod.rs", ""),
    ]);
    let fresh =
        Tree::of(&[("shop/cart.rs", "struct New;\n"), ("shop/mod.rs", ""), ("shop/new.rs", "")]);
    let found: Vec<String> =
        generated::check(&committed, &fresh).iter().map(Finding::to_string).collect();
    let differs = "differs from its source: run `cargo xtask proto`";
    assert_eq!(
        found,
        [
            format!("crates/apps/generated/shop/cart.rs: {differs}"),
            format!("crates/apps/generated/shop/new.rs: {differs}"),
            "crates/apps/generated/shop/gone.rs: has no source: run `cargo xtask proto`".to_owned(),
        ]
    );
}

#[test]
fn a_page_that_the_contents_or_the_index_of_the_book_lack_is_found() {
    let of = |summary: &str, index: &str| {
        let files = [
            ("docs/book/README.md", index),
            ("docs/book/SUMMARY.md", summary),
            ("docs/book/a.md", ""),
            ("docs/book/figures/b.md", ""),
        ];
        book::check(&Tree::of(&files)).iter().map(Finding::to_string).collect::<Vec<String>>()
    };
    assert_eq!(
        of("- [Book](README.md)\n- [A](a.md)\n", "| [A](a.md) | [B](../b.md#c) |\n"),
        [""; 0]
    );
    assert_eq!(
        of("- [A](a.md)\n- [Again](a.md)\n", ""),
        [
            "docs/book/SUMMARY.md: lists a.md 2 times",
            "docs/book/SUMMARY.md: does not list README.md",
            "docs/book/README.md: does not list a.md",
        ]
    );
    let found = book::check(&Tree::of(&[("docs/book/a.md", "")]));
    assert_eq!(found.len(), 2, "{found:?}");
}

#[test]
fn pictures_of_another_run_are_found_with_the_remedy() {
    let run = |text: &str| Run { text: format!("{text}\n"), page: "<p>one</p>".to_owned() };
    let empty = "<!-- measured: terminal -->\n<!-- end -->\n";
    let page = crate::pictures::filled(empty, &run("one")).unwrap();
    let [(svg, drawing), (digest, sum)] = crate::pictures::drawn(&run("one"));
    let files = [
        (svg, &*drawing),
        (digest, &*sum),
        ("docs/pictures/report.png", "x"),
        ("docs/book/first-answer.md", &*page),
    ];
    let found = |run: &Run, files: &[(&str, &str)]| {
        let found = pictures::check(&Tree::of(files), run);
        found.iter().map(Finding::to_string).collect::<Vec<String>>()
    };
    assert_eq!(found(&run("one"), &files), [""; 0]);
    let differs = "is not what a run gives today: run `cargo xtask pictures`";
    assert_eq!(
        found(&run("two"), &files),
        [
            format!("docs/pictures/terminal.svg: {differs}"),
            format!("docs/book/first-answer.md: {differs}"),
        ]
    );
    let other = Run { page: "<p>two</p>".to_owned(), ..run("one") };
    assert_eq!(found(&other, &files), [format!("docs/pictures/report.sha256: {differs}")]);
    assert_eq!(
        found(&run("one"), &files[..2]),
        [
            "docs/pictures/report.png: is missing: run `cargo xtask pictures`",
            "docs/book/first-answer.md: there is no `<!-- measured: terminal -->` with an `<!-- end -->` after it",
        ]
    );
}

#[test]
fn a_schema_that_no_page_describes_is_found() {
    let source = "const SCHEMA: &str = \"benchwright.load/3\";\nconst OLDER: &str = \"benchwright.load/2\";\n";
    let found = findings("crates/net/src/document.rs", source);
    let text = "crates/net/src/document.rs:1: `benchwright.load/3` is not in docs/book/results-format.md: \
                describe its fields there";
    assert_eq!(found, [text]);
    let page = |text: &str| {
        let mut files = ORDER.to_vec();
        files.push(("crates/net/src/document.rs", source));
        files.push(("docs/book/results-format.md", text));
        formats::check(&Tree::of(&files)).len()
    };
    assert_eq!(page("| `schema` | text | `benchwright.load/3` |\n"), 0);
    assert_eq!(page("| `schema` | text | `benchwright.load/2` |\n"), 1, "an older version");
    assert_eq!(findings("crates/net/src/document/tests.rs", source), [""; 0]);
}
