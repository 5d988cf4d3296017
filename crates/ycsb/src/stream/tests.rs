use std::collections::BTreeSet;

use super::*;
use crate::properties::{Place, Properties};

fn workload(client: Part, text: &str) -> Arc<Workload> {
    let mut properties = Properties::default();
    properties.set("workload", "site.ycsb.workloads.CoreWorkload", Place::Default);
    properties.read("w", text.as_bytes()).unwrap();
    Arc::new(
        Workload::new(&properties, client, |_| unreachable!("no lengths are in a file")).unwrap(),
    )
}

fn part(number: u32, of: u32) -> Part {
    Part { number, of }
}

#[test]
fn the_shards_of_all_clients_load_each_record_once() {
    let mut records = Vec::new();
    for client in 0..3 {
        let workload =
            workload(part(client, 3), "recordcount=1000\ninsertstart=100\ninsertcount=800");
        for shard in 0..4 {
            let stream = Stream::load(&workload, part(shard, 4), 1);
            records.extend(stream.map(|operation| {
                assert_eq!(operation.kind, Kind::Insert);
                operation.record
            }));
        }
    }
    records.sort_unstable();
    assert_eq!(records, (100..900).collect::<Vec<u64>>());
}

#[test]
fn the_shards_share_the_operations_and_the_inserts() {
    let text = "recordcount=1000\noperationcount=10001\ninsertproportion=1\nreadproportion=0\nupdateproportion=0";
    let workload = workload(Part::WHOLE, text);
    let shared = Arc::new(Shared::new(&workload));
    let mut records = Vec::new();
    for shard in 0..4 {
        let mut stream = Stream::run(&workload, part(shard, 4), 1, &shared);
        while let Some(operation) = stream.next() {
            records.push(operation.record);
            stream.acknowledge(operation.record);
        }
        assert!(stream.has_ended() && !stream.is_stuck());
    }
    assert_eq!(records, (1000..11_001).collect::<Vec<u64>>());
    assert_eq!(shared.inserts.limit(), 11_001);
}

#[test]
fn clients_insert_records_of_their_own_and_choose_among_these() {
    let text = "recordcount=10\noperationcount=2000\ninsertproportion=.5\nreadproportion=.5\nupdateproportion=0\n\
                requestdistribution=latest";
    let mut all = BTreeSet::new();
    for client in 0..3 {
        let workload = workload(part(client, 3), text);
        let shared = Arc::new(Shared::new(&workload));
        let mut stream = Stream::run(&workload, Part::WHOLE, 1, &shared);
        let mut known: BTreeSet<u64> = (0..10).collect();
        while let Some(operation) = stream.next() {
            match operation.kind {
                Kind::Insert => {
                    assert!(all.insert(operation.record), "{} is inserted twice", operation.record);
                    known.insert(operation.record);
                    stream.acknowledge(operation.record);
                }
                _ => assert!(
                    known.contains(&operation.record),
                    "{} is not inserted",
                    operation.record
                ),
            }
        }
    }
}

#[test]
fn an_insert_cannot_be_chosen_before_its_answer() {
    let text = "recordcount=10\noperationcount=1000\ninsertproportion=.5\nreadproportion=.5\nupdateproportion=0\n\
                requestdistribution=latest";
    let workload = workload(Part::WHOLE, text);
    let shared = Arc::new(Shared::new(&workload));
    let stream = Stream::run(&workload, Part::WHOLE, 1, &shared);
    let read = stream.filter(|operation| operation.kind == Kind::Read).map(|read| read.record);
    assert_eq!(read.max(), Some(9));
}

#[test]
fn an_insert_without_an_answer_ends_the_stream_at_the_bound() {
    let text = "recordcount=1\noperationcount=2000000\ninsertproportion=1\nreadproportion=0\nupdateproportion=0";
    let workload = workload(Part::WHOLE, text);
    let shared = Arc::new(Shared::new(&workload));
    let mut stream = Stream::run(&workload, Part::WHOLE, 1, &shared);
    assert_eq!(stream.by_ref().count() as u64, crate::acknowledged::WINDOW);
    assert!(stream.is_stuck() && stream.has_ended());
}

#[test]
fn a_run_without_a_count_goes_on() {
    let workload = workload(Part::WHOLE, "recordcount=1");
    let shared = Arc::new(Shared::new(&workload));
    let mut stream = Stream::run(&workload, Part::WHOLE, 1, &shared);
    assert_eq!(
        stream.by_ref().take(10_000).filter(|operation| operation.record == 0).count(),
        10_000
    );
    assert!(!stream.has_ended());
}

#[test]
fn fields_are_chosen_unless_all_are_asked_for() {
    let operations = |text: &str| -> Vec<Operation> {
        let text = format!(
            "recordcount=9\noperationcount=9999\nfieldcount=4\nscanproportion=.2\nreadmodifywriteproportion=.2\n{text}"
        );
        let workload = workload(Part::WHOLE, &text);
        Stream::run(&workload, Part::WHOLE, 1, &Arc::new(Shared::new(&workload))).collect()
    };
    for operation in operations("readallfields=true\nwriteallfields=true") {
        assert_eq!((operation.read, operation.write), (None, None), "{operation:?}");
    }
    let (mut read, mut written) = (BTreeSet::new(), BTreeSet::new());
    for operation in operations("readallfields=false\nwriteallfields=false") {
        use Kind::*;
        assert_eq!(
            operation.read.is_some(),
            matches!(operation.kind, Read | Scan | ReadModifyWrite)
        );
        assert_eq!(operation.write.is_some(), matches!(operation.kind, Update | ReadModifyWrite));
        assert_eq!(0 < operation.length, operation.kind == Scan);
        read.extend(operation.read);
        written.extend(operation.write);
    }
    assert_eq!((read, written), ((0..4).collect(), (0..4).collect()));
}

#[test]
fn the_same_seed_gives_the_same_operations() {
    let workload =
        workload(Part::WHOLE, "recordcount=1000\noperationcount=100\nrequestdistribution=zipfian");
    let run = |shard, seed| -> Vec<Operation> {
        Stream::run(&workload, part(shard, 2), seed, &Arc::new(Shared::new(&workload))).collect()
    };
    assert_eq!(run(0, 1), run(0, 1));
    assert_ne!(run(0, 1), run(0, 2));
    assert_ne!(run(0, 1), run(1, 1));
}

#[test]
fn vectors_of_latest_and_exponential() {
    let us = [0.05, 0.06, 0.2, 0.25, 0.5, 0.75, 0.9];
    let zeta = Zeta::default();
    let mut newest = Newest { ranks: Zipf::new(1, &zeta), zeta };
    assert_eq!(us.map(|u| newest.draw(999, u)), [999, 999, 997, 996, 977, 848, 528]);
    let workload = workload(Part::WHOLE, "recordcount=1000\nrequestdistribution=exponential");
    let Requests::Exponential { rate } = workload.requests else { panic!("{workload:?}") };
    let expected = [142, 195, 539, 603, 801, 917, 969].map(Some);
    assert_eq!(us.map(|u| exponential(999, rate, u)), expected);
    assert_eq!(exponential(999, rate, 0.0), None);
}

#[test]
fn latest_chooses_the_first_record_only_if_there_is_no_other() {
    let zeta = Zeta::default();
    let mut newest = Newest { ranks: Zipf::new(1, &zeta), zeta };
    let largest = 1.0 - f64::EPSILON / 2.0;
    assert_eq!([0, 1, 2, 3, 1000].map(|last| newest.draw(last, largest)), [0, 1, 1, 1, 1]);
    assert_eq!([0, 1, 2, 3, 1000].map(|last| newest.draw(last, 0.0)), [0, 1, 2, 3, 1000]);
}
