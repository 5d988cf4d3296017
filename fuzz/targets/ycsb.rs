//! Arbitrary properties, after a NUL byte a histogram of lengths, and after another one lines for keys: what is valid
//! makes operations on records that exist, and every error says something.
#![no_main]

use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use ycsb::convert::Keys;
use ycsb::properties::{Place, Properties};
use ycsb::settings::{Phase, Settings};
use ycsb::stream::{Shared, Stream};
use ycsb::workload::{Kind, Part, Workload};

fuzz_target!(|data: &[u8]| {
    let mut parts = data.splitn(3, |byte| *byte == 0);
    let (text, histogram) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    convert(parts.next().unwrap_or_default());
    let mut properties = Properties::default();
    properties.set("workload", "site.ycsb.workloads.CoreWorkload", Place::Default);
    properties.set("recordcount", "10", Place::Default);
    if let Err(wrong) = properties.read("fuzzed", text) {
        assert!(!wrong.to_string().is_empty());
        return;
    }
    properties.warnings(&[]);
    let file = |_: &str| Ok(String::from_utf8_lossy(histogram).into_owned());
    let Ok(workload) = Workload::new(&properties, Part::WHOLE, file) else { return };
    for phase in [Phase::Load, Phase::Run] {
        if let Ok(settings) = Settings::new(&properties, phase, &workload) {
            assert!(0 < settings.threads);
        }
    }
    let workload = Arc::new(workload);
    let shared = Arc::new(Shared::new(&workload));
    let mut inserted = workload.record_count;
    for operation in Stream::run(&workload, Part::WHOLE, 1, &shared).take(10) {
        match operation.kind {
            Kind::Insert => {
                assert_eq!(operation.record, inserted, "inserts follow each other");
                inserted += 1;
            }
            _ => assert!(operation.record < workload.record_count, "it exists"),
        }
    }
});

fn convert(lines: &[u8]) {
    let keys = |piece: usize| {
        let (mut keys, mut found) = (Keys::default(), Vec::new());
        lines.chunks(piece).for_each(|piece| keys.read(piece, &mut found));
        keys.end(&mut found);
        assert_eq!(found.len() as u64, 8 * keys.found());
        found
    };
    assert_eq!(keys(usize::MAX), keys(3));
}
