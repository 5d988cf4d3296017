use super::*;

#[test]
fn the_contents_of_the_copy_have_the_pages_at_their_places_and_what_they_link_to() {
    let summary = "# Summary\n\n[The book](README.md)\n\n# First\n\n- [Install](installation.md)\n";
    let expected = "\
# Summary

[The book](docs/book/README.md)

# First

- [Install](docs/book/installation.md)

# The project

- [Experiments](experiments/README.md)
- [Architecture](ARCHITECTURE.md)
- [Contributing](CONTRIBUTING.md)
- [Style](STYLE.md)
- [Security](SECURITY.md)
- [Changelog](CHANGELOG.md)

# Notes

- [2026-11-25-users](docs/notes/2026-11-25-users.md)
";
    assert_eq!(whole(summary, &["2026-11-25-users.md".to_owned()]), expected);
}

#[test]
fn what_is_copied_is_there() {
    for path in COPIED {
        assert!(repository::root().join(path).exists(), "{path}");
    }
    assert!(repository::root().join(BOOK).join("book.toml").exists());
}
