use super::*;

fn rewritten(line: &str) -> String {
    let words = super::rewritten(line.split(' ').map(OsString::from));
    words.iter().map(|word| word.to_str().unwrap()).collect::<Vec<_>>().join(" ")
}

#[test]
fn options_have_one_dash_or_two() {
    for (line, expected) in [
        (
            "b ycsb run basic -threads 4 -target 9 -P f -p a=b -s -l x",
            "b ycsb run basic --threads 4 --target 9 -P f -p a=b -s -l x",
        ),
        (
            "b ycsb load redis --threads 4 --P f --p a=b --s --l -threads",
            "b ycsb load redis --threads 4 -P f -p a=b -s -l -threads",
        ),
        (
            "b ycsb run basic -p -target=1 -threads=3 -db X",
            "b ycsb run basic -p -target=1 --threads=3 --db X",
        ),
        ("b ycsb run -t basic -cp x", "b ycsb run basic --cp x"),
    ] {
        assert_eq!(rewritten(line), expected);
    }
}

#[test]
fn the_main_class_is_a_phase() {
    for (line, expected) in [
        ("b ycsb -load -db site.ycsb.BasicDB -P f", "b ycsb load --db site.ycsb.BasicDB -P f"),
        ("b ycsb -db site.ycsb.BasicDB -P f -t", "b ycsb run --db site.ycsb.BasicDB -P f"),
        ("b ycsb -P f", "b ycsb run -P f"),
    ] {
        assert_eq!(rewritten(line), expected);
    }
}

#[test]
fn everything_else_stays_as_it_is() {
    for line in [
        "b load -t x",
        "b",
        "b ycsb",
        "b ycsb --help",
        "b ycsb -h",
        "b ycsb bench -threads 4",
        "b ycsb convert -P x",
        "b ycsb run basic --seed 4 --json -x",
    ] {
        assert_eq!(rewritten(line), line);
    }
}
