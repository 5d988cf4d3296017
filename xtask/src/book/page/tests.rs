use super::*;
use crate::book::Chapter;
use crate::repository;

const PAGE: &str = "Words.\n\n<!-- measured: one -->\n\nold\n\n<!-- end -->\n\nMore words.\n";

#[test]
fn a_place_is_filled_again_and_again_and_the_words_stay() {
    let once = fill(PAGE, "one", "new  \nlines\n").unwrap();
    assert_eq!(
        once,
        "Words.\n\n<!-- measured: one -->\n\nnew\nlines\n\n<!-- end -->\n\nMore words.\n"
    );
    assert_eq!(fill(&once, "one", "old").unwrap(), PAGE);
}

#[test]
fn a_place_that_is_missing_is_named() {
    let error = fill(PAGE, "two", "new").unwrap_err();
    assert_eq!(error, "there is no `<!-- measured: two -->` with an `<!-- end -->` after it");
}

#[test]
fn a_table_aligns_its_numbers() {
    let rows = [["run", "p99"], ["open", "901 ms"]].map(|row| row.map(str::to_owned).to_vec());
    assert_eq!(table(&rows), "| run | p99 |\n|---|---:|\n| open | 901 ms |\n");
}

#[test]
fn every_chapter_is_a_page_that_says_how_it_was_made() {
    for chapter in Chapter::ALL {
        let path = repository::root().join(format!("docs/book/{}.md", chapter.name()));
        let page = std::fs::read_to_string(&path).unwrap();
        let made = fill(&page, "made", "new").unwrap();
        let places = page.matches("<!-- measured: ").count();
        assert!(2 <= places && places == page.matches(END).count(), "{}", path.display());
        assert!(made.contains("](figures/") && page.contains("cargo xtask book"), "{made}");
    }
}
