use std::collections::BTreeMap;

use load::driver::http1::Http1;
use load::driver::{Asked, Driver, Reports};
use load::{Session, Slot, Token};

use super::*;
use crate::{Data, Source};

const MIX: &str = r#"
{"weight":60,"label":"search","target":"/hotels?lat={{uniform 37.78 38.26 4}}&in={{int 9 23}}"}
{"weight":39,"label":"user","method":"POST","target":"/user","headers":{"X-Id":"{{uuid}}"},"body":"{{row.name}} {{zipf 1 1000}} {{hex 7}}"}
{"weight":0.5,"label":"book","method":"POST","target":"/book/{{seq}}"}
{"weight":0.5,"label":"when","target":"/{{time_ms}}/{{connection}}"}
"#;

fn mix(text: &str) -> Arc<Mix> {
    let data = Data::read("d.csv", "name\nAnn\nBob\nCarla\n").unwrap();
    let fields = [("Host".to_owned(), "h".to_owned())];
    let body_file = |_: &str| Err(std::io::ErrorKind::NotFound.into());
    let data = Some(Arc::new(data));
    let source = Source { file: "m", text, data, fields: &fields, body_file: &body_file };
    Arc::new(Mix::read(&source).unwrap_or_else(|error| panic!("{error}")))
}

fn mixed(mix: &Arc<Mix>, seed: u64, target: u32) -> Mixed {
    Mixed::new(mix, Pool { seed, target, connections_before: 100, is_tls: false }, || {
        1_700_000_000_000
    })
}

/// Returns the bytes and the label of a request.
fn next(mixed: &mut impl HttpWorkload, number: u64, asked: Label) -> (String, u16) {
    let (mut wire, mut expected) = (Vec::new(), Vec::new());
    let mut request = Outgoing { wire: &mut wire, expected: &mut expected, label: asked };
    let connection = number as u32 % 7;
    mixed
        .next(Origin { number, label: asked, session: Session::NONE, connection }, &mut request)
        .unwrap();
    let label = request.label.0;
    assert_eq!(expected.len(), 1);
    (String::from_utf8(wire).unwrap(), label)
}

#[test]
fn each_request_is_made_in_proportion_to_its_weight() {
    let (mix, mut counts) = (mix(MIX), [0u32; 4]);
    let mut mixed = mixed(&mix, 1, 0);
    const REQUESTS: u32 = 100_000;
    for number in 0..REQUESTS {
        counts[usize::from(next(&mut mixed, number.into(), Label::NONE).1)] += 1;
    }
    for (count, share) in counts.into_iter().zip([0.6, 0.39, 0.005, 0.005]) {
        let (n, off) = (f64::from(REQUESTS), f64::from(count) - f64::from(REQUESTS) * share);
        assert!(off.abs() <= 4.0 * (n * share * (1.0 - share)).sqrt(), "{counts:?}");
    }
}

#[test]
fn the_same_number_gives_the_same_bytes_whatever_the_shards_and_the_order() {
    let mix = mix(MIX);
    let mut one = mixed(&mix, 1, 0);
    let all: BTreeMap<u64, _> = (0..5000).map(|n| (n, next(&mut one, n, Label::NONE))).collect();
    for shards in [2, 7] {
        let mut merged = BTreeMap::new();
        for shard in 0..shards {
            let mut mixed = one.clone();
            let numbers = (0..5000).rev().filter(|n| n % shards == shard);
            merged.extend(numbers.map(|n| (n, next(&mut mixed, n, Label::NONE))));
        }
        assert_eq!(merged, all, "{shards} shards");
    }
    for (seed, target) in [(2, 0), (1, 1)] {
        let mut other = mixed(&mix, seed, target);
        let equal = all.iter().filter(|(n, known)| next(&mut other, **n, Label::NONE) == **known);
        assert!(equal.count() < 50, "another seed or target makes other requests");
    }
}

#[test]
fn only_time_and_connection_depend_on_the_sending() {
    let mix = mix(r#"{"target":"/{{time_ms}}/{{connection}}/{{seq}}/{{row.name}}"}"#);
    let line = |mixed: &mut Mixed, number| {
        next(mixed, number, Label::NONE).0.lines().next().unwrap().to_owned()
    };
    let mut here = mixed(&mix, 1, 0);
    assert_eq!(line(&mut here, 9), "GET /1700000000000/103/9/Ann HTTP/1.1");
    let pool = Pool { seed: 1, target: 0, connections_before: 0, is_tls: false };
    let mut there = Mixed::new(&mix, pool, || 5);
    assert_eq!(line(&mut there, 9), "GET /5/3/9/Ann HTTP/1.1");
    assert_eq!(line(&mut there, 10), "GET /5/4/10/Bob HTTP/1.1");
}

#[test]
fn an_arrival_gets_the_label_that_it_requests() {
    let mix = mix(MIX);
    let mut mixed = mixed(&mix, 1, 0);
    assert_eq!(mix.labels().collect::<Vec<_>>(), ["search", "user", "book", "when"]);
    assert!((0..200).all(|number| next(&mut mixed, number, Label(2)).1 == 2));
    // A request that is chosen at random has the same placeholder values.
    let number = (0..).find(|&number| next(&mut mixed, number, Label::NONE).1 == 1).unwrap();
    let at_random = next(&mut mixed, number, Label::NONE);
    assert_eq!(next(&mut mixed, number, Label(1)), at_random);
}

#[test]
fn only_the_parts_of_a_response_that_its_rules_need_are_kept() {
    let mix = mix(r#"{"target":"/a"}
{"target":"/b","check":"status=200"}
{"target":"/c","check":"bytes>=2"}
{"target":"/d","check":"body~x"}
{"target":"/e","check":"body~x json:=1"}"#);
    let mut mixed = mixed(&mix, 1, 0);
    let wanted: Vec<Wanted> = (0..5).map(|tag| mixed.wanted(0, tag)).collect();
    let head = Wanted::Head;
    assert_eq!(wanted, [Wanted::Nothing, head, head, Wanted::Pieces, Wanted::Body]);
}

/// Sixteen bodies of a megabyte each, received alternately piece by piece; every other one contains
/// the searched text across the border of two pieces.
#[test]
fn bodies_that_are_searched_are_not_kept() {
    const CONNECTIONS: u32 = 16;
    let request = Static::new("GET", "/", &[("Host", "h")], b"");
    let checks = Arc::new(Checks::parse("body~needle").unwrap());
    let mut driver = Http1::new(CONNECTIONS as usize, Checked::new(request, checks));
    let mut reports = Reports::default();
    let piece = [b'.'; 16 * 1024];
    let counted = allocation_counter::measure(|| {
        for slot in 0..CONNECTIONS {
            let asked = Asked {
                token: Token(slot),
                number: 0,
                label: Label::NONE,
                session: Session::NONE,
                again: false,
            };
            driver.start(Slot(slot), asked, &mut reports).unwrap();
            let head = b"HTTP/1.1 200 OK\r\nContent-Length: 1048576\r\n\r\n";
            driver.receive(Slot(slot), head, &mut reports).unwrap();
        }
        for index in 0..64 {
            for slot in 0..CONNECTIONS {
                let mut piece = piece;
                match (index, slot % 2) {
                    (30, 0) => piece[16 * 1024 - 3..].copy_from_slice(b"nee"),
                    (31, _) => piece[..3].copy_from_slice(b"dle"),
                    _ => {}
                }
                driver.receive(Slot(slot), &piece, &mut reports).unwrap();
            }
        }
    });
    let outcomes: Vec<_> = reports.done.iter().map(|done| (done.token.0, done.outcome)).collect();
    let expected = |slot| (slot, if slot % 2 == 0 { Outcome::Ok } else { Outcome::Check });
    assert_eq!(outcomes, (0..CONNECTIONS).map(expected).collect::<Vec<_>>());
    assert!(counted.bytes_max < 64 * 1024, "{counted:?}");
}

/// Returns the outcome of one request whose response arrives in these slices.
fn outcome(workload: impl HttpWorkload, label: Label, slices: &[&[u8]]) -> Outcome {
    let (mut driver, mut reports) = (Http1::new(1, workload), Reports::default());
    let asked = Asked { token: Token(1), number: 0, label, session: Session::NONE, again: false };
    driver.start(Slot(0), asked, &mut reports).unwrap();
    for slice in slices {
        driver.receive(Slot(0), slice, &mut reports).unwrap();
    }
    let [done] = reports.done[..] else { panic!("{reports:?}") };
    done.outcome
}

#[test]
fn responses_are_judged_by_the_rules_of_their_request_however_they_are_cut() {
    let mix = mix(r#"{"target":"/plain"}
{"target":"/text","check":"body~'grand hotel'"}
{"target":"/long","check":"bytes>=24"}
{"target":"/gone","check":"status=404"}
{"method":"HEAD","target":"/head","check":"header:transfer-encoding=chunked status=200"}"#);
    let answer = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\
                   a\r\nthe grand \r\n9\r\nhotel of \r\n5\r\nnames\r\n0\r\n\r\n";
    for cut in 0..answer.len() {
        let (a, b) = answer.split_at(cut);
        let outcomes = [0, 1, 2, 3].map(|l| outcome(mixed(&mix, 1, 0), Label(l), &[a, b]));
        let status = Outcome::Status;
        assert_eq!(outcomes, [Outcome::Ok, Outcome::Ok, Outcome::Ok, status], "cut at {cut}");
    }
    let other = b"HTTP/1.1 404 No\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhotel\r\n0\r\n\r\n";
    let outcomes = [0, 1, 2, 3].map(|l| outcome(mixed(&mix, 1, 0), Label(l), &[other]));
    assert_eq!(outcomes, [Outcome::Status, Outcome::Status, Outcome::Status, Outcome::Ok]);
    let short = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhotel";
    let outcomes = [0, 1, 2, 3].map(|l| outcome(mixed(&mix, 1, 0), Label(l), &[short]));
    assert_eq!(outcomes, [Outcome::Ok, Outcome::Check, Outcome::Check, Outcome::Status]);
    let head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    assert_eq!(outcome(mixed(&mix, 1, 0), Label(4), &[head]), Outcome::Ok);
}

#[test]
fn one_request_can_have_rules_too() {
    let request = Static::new("GET", "/", &[("Host", "h")], b"");
    let checked = |rules| Checked::new(request.clone(), Arc::new(Checks::parse(rules).unwrap()));
    let (wire, label) = next(&mut checked("status=200"), 0, Label::NONE);
    assert_eq!((wire.as_str(), label), ("GET / HTTP/1.1\r\nHost: h\r\n\r\n", Label::NONE.0));
    let answer = b"HTTP/1.1 404 No\r\nContent-Length: 2\r\n\r\nno";
    for (rules, expected) in [
        ("status=404", Outcome::Ok),
        ("status=200", Outcome::Status),
        ("status=404 body=no", Outcome::Ok),
        ("status=404 body=yes", Outcome::Check),
    ] {
        assert_eq!(outcome(checked(rules), Label::NONE, &[answer]), expected, "{rules}");
    }
}

#[test]
fn requests_and_checks_allocate_nothing_once_buffers_have_grown() {
    let check = r#"{"target":"/c","check":"status=200 body~bc bytes>=2 header:a=b json:='abcd'"}"#;
    let mix = mix(&format!("{MIX}{check}"));
    let mut mixed = mixed(&mix, 1, 0);
    let (mut wire, mut expected) = (Vec::with_capacity(4096), Vec::with_capacity(8));
    let mut make = |number: u64| {
        wire.clear();
        expected.clear();
        let mut request = Outgoing { wire: &mut wire, expected: &mut expected, label: Label::NONE };
        mixed
            .next(
                Origin { number, label: Label::NONE, session: Session::NONE, connection: 3 },
                &mut request,
            )
            .unwrap();
        let head = b"HTTP/1.1 200 OK\r\nA: b\r\n\r\n";
        let answer = Response {
            status: 200,
            head,
            body: b"\"abcd\"",
            body_length: 6,
            connection: 3,
            tag: expected[0].tag,
        };
        if Wanted::Pieces <= mixed.wanted(3, answer.tag) {
            answer.body.chunks(3).for_each(|piece| mixed.took(3, answer.tag, piece));
        }
        assert_eq!(mixed.answered(&answer), Ok((Outcome::Ok, "")));
    };
    (0..1000).for_each(&mut make);
    let counted = allocation_counter::measure(|| (1000..101_000).for_each(&mut make));
    assert_eq!(counted.count_total, 0, "{counted:?}");
}
