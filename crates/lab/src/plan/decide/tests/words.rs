//! Whatever a journal holds, the search, its answer, the explanation, the advice and the report say the same of each
//! load.

use measure::Quantile;
use results::answer::Verdict;
use results::at_load;
use results::explanation::Code;
use results::journal::Bounds;
use results::slo::{Judged, Slo};

use super::*;
use crate::for_tests::ran_in;
use crate::plan::{Plan, Turns};
use crate::{advice, answer, explanation};

const REQUESTS: u64 = 1_000;

/// A search with two objectives.
fn read(search: &str) -> Resolved {
    queue(&format!(
        "slo: [{{metric: p99, max: 20ms}}, {{metric: p95, max: 10ms}}]
search: {search}
repeat: {{trials: 1}}
budget: {{trials: 60, invalid_attempts: 9, disturbance: 1h}}"
    ))
}

/// Returns an attempt whose numbers of requests over the limits are random: around what is allowed near
/// 500/s, fewer below it and more above.
fn tried(attempt: &Attempt, number: u32, random: &mut Random) -> Entry {
    let asked = attempt.asked.expect("the search has no probe").as_per_second();
    let objective = |quantile: f64, max: u64, random: &mut Random| {
        let slo = Slo::ResponseTime {
            quantile: Quantile::new(quantile).unwrap(),
            max: Nanos::from_millis(max),
        };
        let allowed = (1.0 - quantile) * REQUESTS as f64;
        let spread = 0.5 + random.unit();
        let over = (allowed * spread * (asked / 500.0).powi(3)).round() as u64;
        judged(slo, over.min(REQUESTS))
    };
    let slo = vec![objective(0.99, 20, random), objective(0.95, 10, random)];
    let status = match random.unit() {
        lost if lost < 0.1 => Status::Invalid,
        slowed if slowed < 0.2 => Status::Bounded,
        _ => Status::Valid,
    };
    let mut made = entry(attempt, status, asked);
    let observed = made.observed.as_mut().unwrap();
    observed.slo_met = Some(slo.iter().all(|judged| judged.met));
    Entry {
        trial: number,
        why: attempt.why,
        bounds: attempt.bracket.map(|_| Bounds { lower: None, upper: None }),
        slo,
        ..made
    }
}

/// Judges as the load would be.
fn judged(slo: Slo, over: u64) -> Judged {
    let alone = Judged {
        slo,
        over,
        over_at_least: over,
        of: REQUESTS,
        reached_ns: None,
        verdict: slo::Verdict::Undecided,
        met: false,
        text: String::new(),
    };
    let sum = slo::sums(&[std::slice::from_ref(&alone)]).remove(0);
    Judged { verdict: sum.verdict, met: sum.met, text: format!("{slo}: {over} over"), ..alone }
}

/// Runs a search to its end, or until it is interrupted.
fn ran(resolved: &Resolved, seed: u64) -> (Vec<Entry>, Ending) {
    let mut random = Random::new(seed);
    let stop = 1 + (random.unit() * 40.0) as usize;
    let mut journal = Vec::new();
    loop {
        match decide(resolved, &journal) {
            Decision::End(ending) => return (journal, ending),
            Decision::Run(_) if journal.len() == stop => return (journal, Ending::Interrupted),
            Decision::Run(attempt) => {
                journal.push(tried(&attempt, journal.len() as u32 + 1, &mut random));
            }
        }
    }
}

/// `(1, 2)` of `1 of 2 trials met it`.
fn counted(text: &str) -> (usize, usize) {
    let (before, after) = text.split_once(" of ").unwrap();
    let met = before.rsplit(' ').next().unwrap().parse().unwrap();
    (met, after.split(' ').next().unwrap().parse().unwrap())
}

/// The words before a load, and what they say of its trials together.
const CLAIMS: [(&str, Conclusion); 14] = [
    ("capacity ", Conclusion::Met),
    ("capacity at least ", Conclusion::Met),
    ("capacity is at least ", Conclusion::Met),
    ("above the capacity of ", Conclusion::Met),
    ("lies between ", Conclusion::Met),
    ("was met up to ", Conclusion::Met),
    ("capacity at most ", Conclusion::Missed),
    ("and at most ", Conclusion::Missed),
    ("capacity lies below ", Conclusion::Missed),
    ("missed at ", Conclusion::Missed),
    ("missed down to ", Conclusion::Missed),
    ("the slo, down to ", Conclusion::Missed),
    ("in doubt: ", Conclusion::Missed),
    ("unknown: ", Conclusion::Missed),
];

/// Returns the loads that a text names, each with what it says of it.
fn claims(text: &str) -> Vec<(f64, Conclusion)> {
    let visible = text.split('<').map(|part| part.rsplit('>').next().unwrap());
    let text = visible.collect::<Vec<_>>().join(" ").to_lowercase();
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let text = text.replace(" under the slo", "").replace(" so far", "");
    let mut found = Vec::new();
    for (words, said) in CLAIMS {
        for rest in text.split(words).skip(1) {
            found.extend(rate(rest).map(|rate| (rate, said)));
            if words == "lies between " {
                let (_, upper) = rest.split_once(" and ").unwrap();
                found.push((rate(upper).unwrap(), Conclusion::Missed));
            }
        }
    }
    found
}

/// The rate with which a text begins: 1200 of `1,200/s` and of `1,200 and 1,300/s`.
fn rate(text: &str) -> Option<f64> {
    let end = text.find(|c: char| !c.is_ascii_digit() && !",.".contains(c))?;
    let is_rate = ["/s", " and "].iter().any(|unit| text[end..].starts_with(unit));
    text[..end].replace(',', "").parse().ok().filter(|_| is_rate)
}

/// Returns what is seen of a page.
fn body(page: &str) -> &str {
    page.split("<body>").nth(1).unwrap().split("<script>").next().unwrap()
}

#[test]
fn the_words_about_a_load_are_found_in_any_text() {
    let met = |rate| (rate, Conclusion::Met);
    let missed = |rate| (rate, Conclusion::Missed);
    assert_eq!(
        claims("capacity   at least 400/s and at most 1,200/s"),
        [met(400.0), missed(1_200.0)]
    );
    assert_eq!(claims("it lies between 3,500 and 3,570/s."), [met(3_500.0), missed(3_570.0)]);
    assert_eq!(claims("<h3>Capacity under the SLO</h3><p>47.5/s</p>"), [met(47.5)]);
    assert_eq!(claims("the capacity of 2 searches, 300/s"), []);
}

#[test]
fn what_is_said_of_a_load_never_disagrees() {
    let specs = [
        "{range: [200/s, 1200/s], precision: 5%}",
        "{range: [200/s, 1200/s], strategy: bisect}",
        "{range: [200/s, 1200/s], strategy: mlr}",
        "{start: 400/s, strategy: adaptive}",
        "{range: [200/s, 1200/s], step: 100/s, result: capacity}",
        "{start: 200/s, step: 20%, stop: [{rule: slo_violated, times: 2}]}",
    ];
    let folder = tempfile::tempdir().unwrap();
    // Only its place and its spec are used.
    let mut past = ran_in(folder.path(), &read(specs[0]).source.text);
    let (mut capacities, mut together, mut said_of_loads, mut advised) = (0, 0, 0, 0);
    for (spec, seed) in specs.iter().flat_map(|spec| (0..150).map(move |seed| (spec, seed))) {
        let resolved = read(spec);
        let (journal, ending) = ran(&resolved, seed);
        let place = format!("{spec}, seed {seed}, {ending:?}");
        let plan = Plan::of(&resolved).unwrap();
        let answer = answer::of(&plan, &Turns::new(&plan, journal.clone()), &ending);
        let [search] = &answer.searches[..] else { panic!("{place}") };
        let loads = at_load::by_load(&journal);
        let judgements: Vec<_> = loads.iter().flat_map(|at| at.judgements()).collect();
        let joint = judgements.iter().filter(|of| 1 < of.trials.len()).count();
        together += joint;
        let words = explanation::of_run(&answer);
        let said = words.iter().find(|one| one.about == "capacity").map(|one| &one.text);
        assert_eq!(said.is_some(), search.capacity.is_some(), "{place}");
        if let Ending::Answered(why) = &ending {
            let is_found = search.capacity.is_some();
            assert_eq!(search.verdict == Verdict::Answered, is_found, "{place}: {why}");
            assert!(is_found || !why.contains("lies between"), "{place}: {why}");
        }
        past.resolved = resolved;
        let advice = advice::of(&past, &answer);
        let mut texts = vec![answer.summary.clone(), answer::table(&answer)];
        texts.extend(words.iter().map(|one| one.text.clone()));
        texts.extend(advice.iter().map(|one| one.text.clone()));
        if seed % 10 == 0 {
            let (journal, answer) = (Some(journal.clone()), Some(answer.clone()));
            let (page, _) = report::compose(&past.directory, journal, answer, None).unwrap();
            texts.push(body(&page).to_owned());
        }
        for (rate, said) in texts.iter().flat_map(|text| claims(text)) {
            said_of_loads += 1;
            let off = |at: &&AtLoad<'_>| (at.rate_per_s().unwrap_or(f64::INFINITY) - rate).abs();
            let load = loads.iter().min_by(|a, b| off(a).total_cmp(&off(b))).unwrap();
            assert!(off(&load) <= 0.006 * rate, "{place}: nothing was tried at {rate}");
            assert_eq!(load.conclusion(), Some(said), "{place}: {rate}/s in {texts:#?}");
        }
        if let Some(short) = advice.iter().find(|one| one.code == Code::TooFewRequests) {
            advised += 1;
            let (count, of) = counted(&short.text);
            assert!(of == judgements.len() && joint <= count, "{place}: {}", short.text);
        }
        let Some(capacity) = &search.capacity else { continue };
        capacities += 1;
        let (_, judged) = said.unwrap().split_once(": ").unwrap();
        let (above, below) = match judged.split_once("; at ") {
            Some((below, above)) => (Some(above), below),
            None => (None, judged),
        };
        let rests_on = answer.rests_on(&journal);
        let is_shown =
            |at: &AtLoad<'_>| at.attempts.iter().all(|one| rests_on.contains(&one.trial));
        let met = loads.iter().find(|at| at.is_of(capacity.rate_per_s)).unwrap();
        assert_eq!(met.conclusion(), Some(Conclusion::Met), "{place}");
        assert!(met.has(capacity.trial) && is_shown(met), "{place}");
        let of_trial = at_load::conclusions(&journal)[&capacity.trial];
        assert_eq!(of_trial, Conclusion::Met, "{place}: the trial that stands for it");
        let (yes, of) = counted(below);
        assert!(of < 2 * yes, "{place}: {below}");
        assert_eq!(capacity.missed_at_per_s.is_some(), above.is_some(), "{place}");
        let Some(rate) = capacity.missed_at_per_s else { continue };
        let missed = loads.iter().find(|at| at.is_of(rate)).unwrap();
        assert_eq!(missed.conclusion(), Some(Conclusion::Missed), "{place}");
        // A search that has not ended may have seen a lower one miss it, which it does not take for a bound yet.
        assert!(is_shown(missed) || !search.is_enclosed(), "{place}: {rests_on:?}");
        let (yes, of) = counted(above.unwrap());
        assert!(2 * yes <= of, "{place}: {above:?}");
    }
    assert!(500 < capacities && 500 < together, "{capacities} {together}");
    assert!(2_000 < said_of_loads && 50 < advised, "{said_of_loads} {advised}");
}
