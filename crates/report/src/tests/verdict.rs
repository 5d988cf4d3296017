use expect_test::expect;
use results::Load;
use results::failure::Failure;
use results::journal::{Purpose, Status};
use results::load::GateName;

use super::levels::rows;
use super::*;

/// The badges of a page, one in a line with its class.
fn badges(page: &str) -> String {
    let list = page.split("<ul class=\"badges\">").nth(1).unwrap().split("</ul>").next().unwrap();
    let items = list.split("<li class=\"").skip(1);
    // A line does not begin with a space: expect-test removes those that all lines share.
    items.map(|item| format!("‘{}", item.replacen("\">", "’ ", 1).replace("</li>", "\n"))).collect()
}

#[test]
fn badges_say_how_far_a_run_can_be_trusted() {
    let fixture = Fixture::sweep();
    expect![[r#"
        ‘’ ! 17 of 19 trials valid; not valid: trial 8; aborted: trial 16
        ‘good’ ✓ not late: 18 trials; in valid ones lateness p99 at most 70.0 µs
        ‘good’ ✓ no failures of 310,035 requests
    "#]]
    .assert_eq(&badges(&page(&fixture)));
}

#[test]
fn a_gate_that_failed_and_requests_that_failed_are_named_with_their_trials() {
    let mut fixture = Fixture::new(|_| {});
    for number in 1..=3 {
        fixture.push(1_000.0, |entry| {
            if number == 2 {
                entry.status = Status::Invalid;
            } else {
                entry.observed.as_mut().unwrap().failures = 7;
            }
        });
    }
    let path = fixture.directory.trial_path(2).join("load.json");
    let mut load: Load = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    load.validity.gates[0].passed = false;
    fs::write(&path, serde_json::to_vec(&load).unwrap()).unwrap();
    expect![[r#"
        ‘’ ! 2 of 3 trials valid; not valid: trial 2
        ‘’ ! late: 1 of 3 trials (trial 2); in valid ones lateness p99 at most 51.3 µs
        ‘’ ! 14 of 10,000 requests failed (trials 1 and 3)
    "#]]
    .assert_eq(&badges(&page(&fixture)));
}

#[test]
fn the_failures_of_a_failing_service_are_the_first_badge() {
    let pages = [1, 2].map(|failing| {
        let mut fixture = Fixture::new(|_| {});
        for number in 1..=2 {
            fixture.push(1_000.0, |entry| {
                let observed = entry.observed.as_mut().unwrap();
                let count = observed.requests;
                if number <= failing {
                    observed.failures = count;
                    observed.failing = vec![Failure {
                        text: format!("404 for {count} of {count} requests to /fast/"),
                        count,
                        of: count,
                        ..Failure::default()
                    }];
                }
            });
        }
        page(&fixture)
    });
    expect![[r#"
        ‘’ ! failing: 404 for 5000 of 5000 requests to /fast/ (trial 1)
        ‘’ ! 2 of 2 trials valid
        ‘good’ ✓ not late: 2 trials; in valid ones lateness p99 at most 50.2 µs

        ‘bad’ ✗ failing: 404 for 5000 of 5000 requests to /fast/ (trial 1, and one other trial fails)
        ‘’ ! 2 of 2 trials valid
        ‘good’ ✓ not late: 2 trials; in valid ones lateness p99 at most 50.2 µs
    "#]].assert_eq(&pages.each_ref().map(|page| badges(page)).join("\n"));
    assert!(pages[1].contains("✗ failing, valid"));
    assert!(!pages[1].contains("✓ valid"));
}

#[test]
fn a_trial_that_fails_most_requests_is_not_marked_as_saturated() {
    let marked = [false, true].map(|is_failing| {
        let mut fixture = Fixture::new(|_| {});
        fixture.push(1_000.0, |entry| {
            let observed = entry.observed.as_mut().unwrap();
            (observed.saturated, observed.unfinished) = (true, Some(0));
            observed.failures = if is_failing { observed.requests } else { 0 };
        });
        words(&page(&fixture)).contains("saturated")
    });
    assert_eq!(marked, [true, false]);
}

/// Others used the CPUs of the system: the gate of the generator, which has CPUs of its own, does not see it.
#[test]
fn a_valid_trial_that_was_disturbed_is_called_so_by_every_badge_and_table() {
    let mut fixture = Fixture::new(|_| {});
    for number in 1..=3 {
        fixture.push(1_000.0, |entry| {
            if number == 2 {
                entry.disturbed = vec!["pid 9 cc used 89.5 % of CPU 0".to_owned()];
            }
        });
        let path = fixture.directory.trial_path(number).join("load.json");
        let mut load: Load = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        load.validity.gates[0].name = GateName::Disturbed;
        fs::write(&path, serde_json::to_vec(&load).unwrap()).unwrap();
    }
    let page = page(&fixture);
    expect![[r#"
        ‘’ ! 3 of 3 trials valid; valid, but disturbed: trial 2
        ‘’ ! disturbed: 1 of 3 trials (trial 2); in valid ones hiccups p99 at most 73.7 µs
        ‘good’ ✓ no failures of 15,000 requests
    "#]]
    .assert_eq(&badges(&page));
    let words = words(&page);
    assert!(words.contains("! valid, but disturbed"), "{words}");
    assert!(words.contains("disturbed: pid 9 cc used 89.5 % of CPU 0"), "{words}");
}

/// Nothing else may repeat it, and it counts.
#[test]
fn a_valid_trial_in_a_slow_machine_is_called_so_by_its_badge_and_its_row() {
    let mut fixture = Fixture::new(|_| {});
    for number in 1..=3 {
        fixture.push(1_000.0, |entry| {
            if number == 3 {
                entry.warnings =
                    vec!["slow machine: 80 % of the speed of the trials before".into()];
            }
        });
    }
    let page = page(&fixture);
    let badges = badges(&page);
    let badge = "‘’ ! 3 of 3 trials valid; valid, but in a slow machine: trial 3\n";
    assert!(badges.starts_with(badge), "{badges}");
    let words = words(&page);
    assert!(words.contains("! valid, but in a slow machine"), "{words}");
}

#[test]
fn a_run_of_which_most_trials_were_disturbed_doubts_its_capacity() {
    let mut fixture = Fixture::new(|manifest| manifest.state = State::Finished);
    for _ in 0..2 {
        fixture.push(1_000.0, |entry| {
            entry.disturbed = vec!["pid 9 cc used 89.5 % of CPU 0".to_owned()];
        });
    }
    fixture.directory.write_answer(&fixture.answer(Verdict::Answered)).unwrap();
    let words = words(&page(&fixture));
    let doubt = "2 of 2 trials were disturbed (trial 2: pid 9 cc used 89.5 % of CPU 0), which only slows a system \
                 down: on a quiet machine it probably does better";
    assert!(words.contains(doubt), "{words}");
}

#[test]
fn a_service_that_the_run_did_not_start_has_no_limit_that_was_looked_for() {
    let limit = |backend: &str| {
        let mut fixture = Fixture::new(|manifest| {
            (manifest.backend, manifest.state) = (backend.to_owned(), State::Finished);
        });
        fixture.push(1_000.0, |_| {});
        let answer = Answer { limited_by: None, ..fixture.answer(Verdict::Answered) };
        fixture.directory.write_answer(&answer).unwrap();
        let words = words(&page(&fixture));
        words.split("limited by  ").nth(1).unwrap()[..30].to_owned()
    };
    assert!(limit("local").starts_with("no observed resource"));
    assert!(limit("external").starts_with("not known: nothing of the serv"));
}

#[test]
fn the_loads_of_the_answer_have_a_row_with_the_medians_of_their_trials() {
    let mut fixture = Fixture::new(|_| {});
    for _ in 0..3 {
        fixture.push(1_000.0, |_| {});
    }
    fixture.push(2_000.0, |_| {});
    let so_far = fixture.answer(Verdict::Open);
    let page = render(&fixture.directory, Some(so_far)).unwrap();
    let verdict = page.split("<section class=\"verdict").nth(1).unwrap();
    let table = rows(verdict.split("</section>").next().unwrap());
    expect![[r#"
        load | asked | p50 | p90 | p99 | p99.9 | trials | offered /s | completed /s | failures | 
        lowest load | 1,000/s | 603 µs | 1.18 ms | 1.97 ms | 2.71 ms 5 beyond | 3 | 1,000 | 1,000 | 0
        capacity and maximum and highest load | 2,000/s | 741 µs | 1.62 ms | 2.86 ms | 3.91 ms | 1 | 2,000 | 2,000 | 0
    "#]].assert_eq(&table);
    let p99 = fixture.entries[..3].iter().map(|entry| entry.observed.as_ref().unwrap().p99_ns);
    let p99: Vec<f64> = p99.map(|ns| ns.unwrap() as f64).collect();
    let median = time(measure::estimate::median(&p99).unwrap() as u64);
    assert!(table.contains(&format!("| {median} |")), "{median}");
}

#[test]
fn a_search_that_only_reached_the_end_of_its_range_says_so_in_its_title() {
    let fixture = Fixture::sweep();
    for (verdict, title) in [
        (Verdict::Answered, "✓ Answered: the range ended, so this is a lower bound"),
        (Verdict::NoAnswer, "! No trustworthy answer: the range ended, so this is a lower bound"),
    ] {
        let mut answer = fixture.answer(verdict);
        answer.capacity.as_mut().unwrap().at_least = true;
        let mut search = results::answer::Search::of_strand(1);
        (search.ended_with_range, search.capacity) = (true, answer.capacity.clone());
        answer.searches = vec![search];
        fixture.directory.write_answer(&answer).unwrap();
        let page = page(&fixture);
        assert!(page.contains(&format!("<h2>{title}</h2>")), "{title}");
    }
}

/// The answer counts the probe, too.
#[test]
fn a_probe_in_which_the_service_failed_is_one_of_the_failing_trials() {
    let mut fixture = Fixture::new(|_| {});
    for purpose in [Purpose::Probe, Purpose::Trial, Purpose::Trial] {
        fixture.push(1_000.0, |entry| {
            entry.purpose = purpose;
            let observed = entry.observed.as_mut().unwrap();
            let count = observed.requests;
            observed.failures = count;
            let text = format!("404 for {count} of {count} requests to /");
            observed.failing = vec![Failure { text, count, of: count, ..Failure::default() }];
        });
    }
    let badges = badges(&page(&fixture));
    assert!(badges.contains("(trial 1, and 2 other trials fail)"), "{badges}");
}
