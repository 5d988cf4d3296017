use super::*;

fn read_one(text: &str) -> Slo {
    text.parse().unwrap()
}

#[test]
fn objectives_are_read_and_written() {
    for (text, words, again) in [
        ("10ms", "p99 ≤ 10 ms", "p99<=10ms"),
        ("p99<10ms", "p99 ≤ 10 ms", "p99<=10ms"),
        (" p99.9 <= 1s ", "p99.9 ≤ 1 s", "p99.9<=1s"),
        ("p50 ≤ 1500us", "p50 ≤ 1500 us", "p50<=1500us"),
        ("errors<0.1%", "failures ≤ 0.1 %", "failures<=0.1%"),
        ("failures<=0%", "failures ≤ 0 %", "failures<=0%"),
        ("failures<=0.001", "failures ≤ 0.1 %", "failures<=0.1%"),
        ("login.p99<10ms", "login.p99 ≤ 10 ms", "login.p99<=10ms"),
        ("GET /a.b.p99.9<1s", "GET /a.b.p99.9 ≤ 1 s", "GET /a.b.p99.9<=1s"),
        ("a.errors<1%", "a.failures ≤ 1 %", "a.failures<=1%"),
    ] {
        let slo = read_one(text);
        assert_eq!((slo.to_string(), written(&[slo])), (words.to_owned(), again.to_owned()));
        assert_eq!(read(&written(&[slo])), Ok(vec![slo]));
        let kept = serde_json::to_string(&slo).unwrap();
        assert_eq!(serde_json::from_str::<Slo>(&kept).unwrap(), slo, "{kept}");
    }
    for text in
        ["", "p99", "p99<", "p0<1s", "p100<1s", "p101<1s", "errors<200%", "mean<1s", ".p99<1s"]
    {
        let error = read(text).expect_err(text);
        assert!(error.contains("write p99<=10ms or failures<=0.1%"), "{error}");
    }
    let both = read("p99<=100ms, failures<=0.1%").unwrap();
    assert_eq!(in_words(&both), "p99 ≤ 100 ms and failures ≤ 0.1 %");
}

fn judged(slo: &str, over: u64, of: u64) -> Judged {
    let slo = slo.parse().unwrap();
    let (verdict, met) = Slo::decide(&slo, over, over, of);
    Judged {
        slo,
        over,
        over_at_least: over,
        of,
        reached_ns: None,
        verdict,
        met,
        text: String::new(),
    }
}

#[test]
fn an_objective_is_missed_by_failures_if_more_failed_than_it_allows() {
    let reached = |judged: Judged| Judged { reached_ns: Some(30_000_000), ..judged };
    let unfinished = |judged: Judged| Judged { over_at_least: 0, ..judged };
    for (judged, is_missed_so) in [
        (judged("p99<=20ms", 50, 1_000), true),
        (reached(judged("p99<=20ms", 50, 1_000)), false),
        (judged("p99<=20ms", 1, 1_000), false),
        (judged("failures<=0.1%", 9, 1_000), true),
        (unfinished(judged("failures<=0.1%", 9, 1_000)), false),
        (judged("login.failures<=0.1%", 9, 1_000), false),
    ] {
        assert_eq!(judged.is_missed_by_failures(), is_missed_so, "{judged:?}");
    }
}

#[test]
fn equal_loads_are_judged_as_one_long_load() {
    let p99 = |over: u64| [judged("p99<=20ms", over, 1_000)];
    // 6 of 1,000 instead of 10 may be chance; 18 of 3,000 instead of 30 are not.
    assert_eq!(p99(6)[0].verdict, Verdict::Undecided);
    let pooled = |loads: &[&[Judged]]| {
        let Pooled { verdict, met } = super::pooled(loads);
        (verdict, met)
    };
    assert_eq!(pooled(&[&p99(6)]), (Verdict::Undecided, true));
    assert_eq!(pooled(&[&p99(6), &p99(6), &p99(6)]), (Verdict::Pass, true));
    assert_eq!(pooled(&[&p99(16), &p99(17), &p99(18)]), (Verdict::Fail, false));
    assert_eq!(pooled(&[&p99(12)]), (Verdict::Undecided, false));
}

#[test]
fn objectives_are_pooled_each_and_one_that_nothing_missed_is_met() {
    let load = |late: u64, failed: u64| {
        [judged("p99<=20ms", late, 1_000), judged("failures<=0.1%", failed, 1_000)]
    };
    assert_eq!(load(0, 0)[1].verdict, Verdict::Undecided);
    let verdict = |late, failed| super::pooled(&[&load(late, failed)]).verdict;
    assert_eq!(verdict(0, 0), Verdict::Pass);
    assert_eq!(verdict(0, 1), Verdict::Undecided);
    assert_eq!(verdict(30, 1), Verdict::Fail);
    assert_eq!(verdict(9, 30), Verdict::Fail);
}

#[test]
fn a_load_is_missed_once_no_further_request_can_save_it() {
    let enough = |text: &str, expected| {
        let slos: Vec<Slo> = text.split(',').map(read_one).collect();
        super::enough(&slos, expected)
    };
    // 15,000 requests are expected, and 17,113 are the most: the verdict on so many fails from 194 on.
    let found = enough("p99<=50ms,failures<=0", 15_000.0);
    let p99 = Enough { limit: Some(Nanos::from_millis(50)), requests: 194 };
    assert_eq!(found, [p99, Enough { limit: None, requests: 1 }]);
    let judged = |over: u64, of: u64| judged("p99<=50ms", over, of);
    assert_eq!(judged(193, 17_113).verdict, Verdict::Undecided);
    for of in [194, 5_000, 17_113] {
        assert_eq!(judged(194, of).verdict, Verdict::Fail, "{of}");
    }
    assert_eq!(enough("failures<=100%", 15_000.0), []);
}

/// One per cent or all: nothing could miss the second.
#[test]
fn a_share_without_its_sign_that_may_be_all_requests_is_refused() {
    for max in ["1", "1.0"] {
        let error = Slo::new("failures", max).unwrap_err();
        assert_eq!(error, format!("`{max}` may be {max} % or all requests; write 1% or 100%"));
    }
    assert_eq!(Slo::new("failures", "0.01"), Slo::new("errors", "1%"));
    assert!(Slo::new("failures", "100%").is_ok());
}

#[test]
fn a_limit_of_no_time_is_refused_since_no_response_meets_it() {
    let why = "`p99<=0ms` is not an SLO: no response takes no time, so no load meets it; write p99<=10ms or \
               failures<=0.1%";
    assert_eq!("p99<=0ms".parse::<Slo>().unwrap_err(), why);
    assert!("0s".parse::<Slo>().is_err() && "login.p50<=0ns".parse::<Slo>().is_err());
    assert!("failures<=0".parse::<Slo>().is_ok());
}
