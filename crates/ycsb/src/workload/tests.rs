use super::*;
use crate::properties::Place;

/// Returns the workload of a text with properties, to which the class is added.
pub(crate) fn workload(text: &str) -> Workload {
    try_workload(text).unwrap_or_else(|wrong| panic!("{wrong}"))
}

fn try_workload(text: &str) -> Result<Workload, Wrong> {
    let mut properties = Properties::default();
    properties.set("workload", "site.ycsb.workloads.CoreWorkload", Place::Default);
    properties.read("w", text.as_bytes()).unwrap();
    let histogram = |name: &str| match name {
        "lengths" => Ok("BlockSize\t10\n0\t1\n3\t3\n9\t0\n".to_owned()),
        _ => Err("it does not exist".to_owned()),
    };
    Workload::new(&properties, Part::WHOLE, histogram)
}

fn name(workload: &Workload, record: u64) -> String {
    let mut name = Vec::new();
    workload.name(record, &mut name);
    String::from_utf8(name).unwrap()
}

#[test]
fn names_have_the_digits_of_any_number() {
    let ordered = workload("recordcount=1\ninsertorder=ordered");
    for bits in 0..64 {
        for number in [1 << bits, (1 << bits) - 1, u64::MAX >> bits] {
            assert_eq!(name(&ordered, number), format!("user{number}"));
        }
    }
    for number in (0..20).map(|digits| 10_u64.pow(digits)) {
        assert_eq!(name(&ordered, number), format!("user{number}"));
        assert_eq!(name(&ordered, number - 1), format!("user{}", number - 1));
    }
    // Each group of eight digits.
    for group in (0..100_000_000).step_by(9_973) {
        assert_eq!(name(&ordered, group), format!("user{group}"));
    }
}

#[test]
fn vectors_of_integrity() {
    let value = |text: &str, record, field| {
        let workload = workload(text);
        let mut value = Vec::new();
        workload.value(record, field, &mut Random::new(1), &mut value);
        assert!(workload.is_intact(record, field, &value, &mut Vec::new()));
        assert!(!workload.is_intact(record, field + 1, &value, &mut Vec::new()));
        String::from_utf8(value).unwrap()
    };
    let text = "recordcount=9\ndataintegrity=true";
    assert_eq!(
        value(text, 0, 0),
        "user6284781860667377211:field0:-56807877:2032869390:-165488160:1762371712:-169193395:-1039977118:-10"
    );
    let text = "recordcount=9\ndataintegrity=true\ninsertorder=ordered\nfieldlength=16";
    assert_eq!(value(text, 1, 9), "user1:field9:-12");
}

#[test]
fn vectors_of_scrambled_records() {
    let us = [0.05, 0.06, 0.2, 0.25, 0.5, 0.75, 0.9];
    let c = workload("recordcount=1000\noperationcount=1000\nrequestdistribution=zipfian");
    let records = us.map(|u| c.scrambled(u, 999));
    assert_eq!(records, [610, 213, 421, 809, 367, 767, 991].map(Some));
    let e = workload(
        "recordcount=1000\noperationcount=1000\nrequestdistribution=zipfian\nreadproportion=0\n\
         updateproportion=0\nscanproportion=0.95\ninsertproportion=0.05",
    );
    let records = us.map(|u| e.scrambled(u, 999));
    let expected = [Some(403), Some(802), None, Some(78), Some(774), Some(310), Some(645)];
    assert_eq!(records, expected);
}

#[test]
fn random_values_are_printable_of_the_drawn_length_and_use_all_characters() {
    let workload = workload("recordcount=1\nfieldlength=1003");
    let mut random = Random::new(3);
    let mut seen = [0_u32; 256];
    for _ in 0..100 {
        let mut value = b"before".to_vec();
        workload.value(0, 0, &mut random, &mut value);
        assert_eq!(value.len(), 6 + 1003);
        value[6..].iter().for_each(|&c| seen[usize::from(c)] += 1);
    }
    let used: Vec<usize> = (0..256).filter(|&c| 0 < seen[c]).collect();
    assert_eq!(used, (32..=126).collect::<Vec<_>>());
    // Each has 2 or 3 of 256 values of a byte: 784 or 1175 of 100 300, within eight standard deviations.
    assert!((32..=126).all(|c| (560..1450).contains(&seen[c])), "{seen:?}");
}

#[test]
fn a_number_chooses_the_kind_whose_share_it_is_in() {
    let mixed = workload(
        "recordcount=1\nreadproportion=2\nupdateproportion=0\nscanproportion=1\nreadmodifywriteproportion=1",
    );
    let kinds =
        [0.0, 0.499_999, 0.5, 0.749_999, 0.75, 1.0 - f64::EPSILON / 2.0].map(|u| mixed.kind(u));
    use Kind::*;
    assert_eq!(kinds, [Read, Read, Scan, Scan, ReadModifyWrite, ReadModifyWrite]);
    let rounded =
        workload("recordcount=1\nreadproportion=.1\nupdateproportion=.2\ninsertproportion=.7");
    assert_eq!(rounded.kind(1.0 - f64::EPSILON / 2.0), Insert);
}

#[test]
fn the_parts_of_a_count_add_up_to_it() {
    for (count, of) in [(0, 3), (2, 3), (100, 7), (u64::MAX, 1024)] {
        let mut next = 0;
        for number in 0..of {
            let share = Part { number, of }.share(count);
            assert_eq!(share.start, next);
            next = share.end;
        }
        assert_eq!(next, count);
    }
}

#[test]
fn defaults_are_those_of_the_original() {
    let workload = workload("recordcount=1000");
    assert_eq!(
        (workload.insert_start, workload.insert_count, workload.operation_count),
        (0, 1000, 0)
    );
    assert_eq!(
        (workload.fields, workload.field_lengths.most(), &*workload.table),
        (10, 100, "usertable")
    );
    assert!(workload.reads_all_fields && !workload.writes_all_fields && !workload.names_all_fields);
    assert!(workload.is_hashed && workload.zero_padding == 1 && !workload.data_integrity);
    assert_eq!((workload.requests, workload.scan_lengths.most()), (Requests::Uniform, 1000));
    assert_eq!(workload.cumulative, [0.95, 1.0, 1.0, 1.0, 1.0]);
    let part = super::tests::workload("recordcount=1000\ninsertstart=900");
    assert_eq!((part.insert_start, part.insert_count), (900, 100));
}

#[test]
fn what_makes_no_workload_is_refused_with_the_remedy() {
    let wrong = |text: &str| try_workload(text).map(|_| ()).unwrap_err().to_string();
    let cases = [
        "",
        "workload=my.Workload",
        "workload=",
        "recordcount=10\ninsertstart=5\ninsertcount=6",
        "recordcount=10\ninsertstart=10",
        "recordcount=1\nreadproportion=0\nupdateproportion=0",
        "recordcount=1\nreadproportion=1e308\nupdateproportion=1e308",
        "recordcount=1\nminscanlength=5\nmaxscanlength=4",
        "recordcount=1\nmaxscanlength=0",
        "recordcount=1\nfieldlengthdistribution=uniform\nfieldlength=0",
        "recordcount=1\nfieldcount=65535\nfieldlength=2000",
        "recordcount=1\nrequestdistribution=normal",
        "recordcount=4\nrequestdistribution=hotspot",
        "recordcount=4\nrequestdistribution=hotspot\nhotspotdatafraction=1",
        "recordcount=4\nrequestdistribution=exponential\nexponential.percentile=100",
        "recordcount=4\nrequestdistribution=exponential\nexponential.frac=1e9",
        "recordcount=4\noperationcount=99000000\nrequestdistribution=zipfian\ninsertproportion=.1",
        "recordcount=4\nfieldlengthdistribution=gauss",
        "recordcount=4\nfieldlengthdistribution=histogram",
        "recordcount=4\nfieldlengthdistribution=uniform\ndataintegrity=true",
        "recordcount=4\nfieldcount=0",
    ];
    expect_test::expect![[r#"
        the property `recordcount` is not set; write a whole number from 1 to 2305843009213693952
        w:1: the property `workload` is `my.Workload`, which is not supported; write site.ycsb.workloads.CoreWorkload
        w:1: the property `workload` is missing; write workload=site.ycsb.workloads.CoreWorkload
        w:2: the property `insertstart` is 5 and `insertcount` is 6, which are not records of the 10; correct one of them, or `recordcount`
        w:2: the property `insertstart` is 10 and `insertcount` is 0, which are not records of the 10; correct one of them, or `recordcount`
        w:2: the property `readproportion` is 0, as are the others; set one of: readproportion, updateproportion, insertproportion, scanproportion, readmodifywriteproportion
        w:2: the property `readproportion` is, with the others, more than a number can be; write smaller ones
        w:2: the property `minscanlength` is 5, above `maxscanlength` with 4; correct one of them
        w:2: the property `maxscanlength` is `0`; write a whole number from 1 to 2147483647
        w:3: the property `minfieldlength` is 1, above `fieldlength` with 0; correct one of them
        w:3: the property `fieldlength` makes records over 64 MiB together with `fieldcount`; use shorter or fewer fields
        w:2: the property `requestdistribution` is `normal`; write one of: uniform, zipfian, latest, hotspot, sequential, exponential
        w:1: the property `hotspotdatafraction` makes no hot records of 4, but `hotspotopnfraction` is 0.8; correct one of them
        w:3: the property `hotspotdatafraction` makes only hot records of 4, but `hotspotopnfraction` is 0.8; correct one of them
        w:3: the property `exponential.percentile` makes no distribution of these records; write a number between 0 and 100, such as 95, and a smaller `exponential.frac` above 0
        w:3: the property `exponential.percentile` makes no distribution of these records; write a number between 0 and 100, such as 95, and a smaller `exponential.frac` above 0
        w:4: the property `insertproportion` makes 19800005 records, of which 4 exist, so that most draws are repeated; use more records, or fewer operations with `maxexecutiontime`
        w:2: the property `fieldlengthdistribution` is `gauss`; write one of: constant, uniform, zipfian, histogram
        the property `fieldlengthhistogram` names `hist.txt`, which cannot be used: it does not exist
          correct it, or name another file
        w:3: the property `dataintegrity` needs values of constant length; remove it or `fieldlengthdistribution`
        w:2: the property `fieldcount` is `0`; write a whole number from 1 to 65535"#]].assert_eq(&cases.map(wrong).join("\n"));
    let hot =
        "recordcount=4\nrequestdistribution=hotspot\nhotspotdatafraction=1\nhotspotopnfraction=1";
    assert_eq!(workload(hot).requests, Requests::Hotspot { records: 4, operations: 1.0 });
}
