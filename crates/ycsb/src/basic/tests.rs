use std::sync::Arc;

use expect_test::{Expect, expect};

use super::*;
use crate::properties::Place;
use crate::stream::Shared;
use crate::workload::{Part, Workload};

/// Returns what the binding writes for some operations, of which fields and values are short.
fn written(is_run: bool, text: &str, operations: usize) -> String {
    let mut properties = Properties::default();
    let given = format!(
        "workload=site.ycsb.workloads.CoreWorkload\nrecordcount=3\nfieldcount=2\nfieldlength=4\nmaxscanlength=9\n{text}"
    );
    properties.read("w", given.as_bytes()).unwrap();
    let workload =
        Workload::new(&properties, Part::WHOLE, |_| unreachable!("no lengths are in a file"));
    let workload = Arc::new(workload.unwrap());
    let mut stream = match is_run {
        false => Stream::load(&workload, Part::WHOLE, 1),
        true => Stream::run(&workload, Part::WHOLE, 1, &Arc::new(Shared::new(&workload))),
    };
    let mut out = Vec::new();
    let mut basic = Basic::new(&properties, 1, &mut out).unwrap();
    for operation in stream.by_ref().take(operations).collect::<Vec<_>>() {
        let name = match operation.kind {
            Kind::ReadModifyWrite => Name::Read,
            kind => Name::from(kind),
        };
        basic.begin(&mut stream, name, &operation).unwrap();
        if operation.kind == Kind::ReadModifyWrite {
            basic.begin(&mut stream, Name::Update, &operation).unwrap();
        }
    }
    basic.close().unwrap();
    String::from_utf8(out).unwrap()
}

fn check(is_run: bool, text: &str, operations: usize, expected: Expect) {
    expected.assert_eq(&written(is_run, text, operations));
}

#[test]
fn operations_are_written_as_the_original_does() {
    check(
        false,
        "dataintegrity=true\nfieldlength=40",
        3,
        expect![[r#"
        INSERT usertable user6284781860667377211 [ field0=user6284781860667377211:field0:-56807877 field1=user6284781860667377211:field1:-56807846 ]
        INSERT usertable user8517097267634966620 [ field0=user8517097267634966620:field0:-55795282 field1=user8517097267634966620:field1:-55795279 ]
        INSERT usertable user1820151046732198393 [ field0=user1820151046732198393:field0:-11132445 field1=user1820151046732198393:field1:-11132445 ]
    "#]],
    );
    check(
        true,
        "readproportion=1\nupdateproportion=0",
        1,
        expect![[r#"
        READ usertable user6284781860667377211 [ <all fields> ]
    "#]],
    );
    check(
        true,
        "readproportion=1\nupdateproportion=0\nreadallfields=false",
        1,
        expect![[r#"
        READ usertable user6284781860667377211 [ field1 ]
    "#]],
    );
    check(
        true,
        "readproportion=1\nupdateproportion=0\nreadallfieldsbyname=true",
        1,
        expect![[r#"
            READ usertable user6284781860667377211 [ field0 field1 ]
        "#]],
    );
    check(
        true,
        "readproportion=0\nupdateproportion=1\nwriteallfields=true",
        1,
        expect![[r#"
        UPDATE usertable user6284781860667377211 [ field0=oE'e field1=<fqC ]
    "#]],
    );
    check(
        true,
        "readproportion=0\nupdateproportion=0\nscanproportion=1",
        2,
        expect![[r#"
        SCAN usertable user6284781860667377211 8 [ <all fields> ]
        SCAN usertable user8517097267634966620 3 [ <all fields> ]
    "#]],
    );
    check(
        true,
        "readproportion=0\nupdateproportion=0\nreadmodifywriteproportion=1",
        1,
        expect![[r#"
            READ usertable user6284781860667377211 [ <all fields> ]
            UPDATE usertable user6284781860667377211 [ field1=<fqC ]
        "#]],
    );
}

#[test]
fn a_load_from_a_binding_without_words_only_counts() {
    let text = "basicdb.verbose=false\nbasicdb.count=true\nreadproportion=1\nupdateproportion=0";
    check(
        true,
        text,
        100,
        expect![[r#"
        [READS], Uniques, 3
        [SCANS], Uniques, 0
        [UPDATES], Uniques, 0
        [INSERTS], Uniques, 0
        [DELETES], Uniques, 0
    "#]],
    );
    check(
        false,
        text,
        3,
        expect![[r#"
        [READS], Uniques, 0
        [SCANS], Uniques, 0
        [UPDATES], Uniques, 0
        [INSERTS], Uniques, 3
        [DELETES], Uniques, 0
    "#]],
    );
}

#[test]
fn delays_are_constant_or_uniform_below_the_delay() {
    let delays = |text: &str| {
        let mut properties = Properties::default();
        properties.set("basicdb.simulatedelay", "10", Place::Default);
        properties.read("w", text.as_bytes()).unwrap();
        let mut basic = Basic::new(&properties, 1, Vec::new()).unwrap();
        (0..1000).map(|_| basic.delay().0 / 1_000_000).collect::<std::collections::BTreeSet<_>>()
    };
    assert_eq!(delays("basicdb.randomizedelay=false"), [10].into());
    assert_eq!(delays(""), (0..10).collect());
    assert_eq!(delays("basicdb.simulatedelay=0"), [0].into());
}
