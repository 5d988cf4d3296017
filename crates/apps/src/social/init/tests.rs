use std::time::Duration;

use clap::Parser;
use fake::{Fake, Fault, Served};

use super::*;
use crate::kit::exit::Code;

mod fake;

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    command: Command,
}

const SMALL: [&str; 4] = ["--graph", "generated:40x200", "--compose", "5"];

fn command(served: &Served, more: &[&str]) -> Command {
    let address = served.address.to_string();
    let line = [&["init", "--address", &address], more].concat();
    Line::try_parse_from(line).map_err(|error| error.to_string()).unwrap().command
}

fn run(served: &Served, more: &[&str]) -> Result<Document, Exit> {
    let command = command(served, more);
    in_runtime(async |run| command.verified(&run).await, &command)
}

/// Runs something in the runtime of a command.
fn in_runtime<T>(what: impl AsyncFn(Rc<Run>) -> T, command: &Command) -> T {
    let graph = command.graph.graph(command.seed).unwrap();
    let (choice, number, users) = (command.posts, command.compose, graph.users());
    let posts = Posts { choice, number, users, seed: command.seed };
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(LocalSet::new().run_until(async {
        let servers = Server::replicas(&command.address).await.unwrap();
        what(Rc::new(Run::new(Workers::new(servers, 8), graph, posts))).await
    }))
}

/// Kills a run once this many requests have arrived: it is dropped with its
/// connections, wherever it is.
fn run_killed(served: &Served, more: &[&str], requests: u64) {
    let command = command(served, more);
    in_runtime(
        async |run| {
            tokio::select! {
                biased;
                () = served.arrived(requests) => {}
                done = command.verified(&run) => panic!("it ended: {:?}", done.err()),
            }
        },
        &command,
    );
}

fn verified(document: &Document) -> [u64; 4] {
    let Document { users, follows, posts, home_timeline_posts, .. } = document;
    [users.verified, follows.verified, posts.verified, *home_timeline_posts]
}

fn found(document: &Document) -> [u64; 3] {
    [document.users.found, document.follows.found, document.posts.found]
}

#[test]
fn an_empty_application_gets_everything_once() {
    let served = Served::start(Fake::default());
    let document = run(&served, &SMALL).unwrap();
    let held = served.held();
    assert_eq!(verified(&document), [40, 200, 200, held.home_timeline_posts()]);
    assert_eq!(found(&document), [0, 0, 0]);
    assert_eq!(held.counts(), [40, 200, 200]);
    assert_eq!(document.requests, served.requests());
}

#[test]
fn a_second_run_finds_everything_and_sends_no_post() {
    let served = Served::start(Fake::default());
    let first = run(&served, &SMALL).unwrap();
    let composed = served.held().composed;
    let second = run(&served, &SMALL).unwrap();
    assert_eq!(found(&second), [40, 200, 200]);
    assert_eq!(verified(&first), verified(&second));
    assert_eq!(served.held().composed, composed);
}

#[test]
fn more_posts_are_added_to_those_of_a_smaller_run() {
    let served = Served::start(Fake::default());
    run(&served, &SMALL[..2]).unwrap();
    let none = served.held().counts();
    run(&served, &SMALL).unwrap();
    let more = run(&served, &["--graph", "generated:40x200", "--compose", "7"]).unwrap();
    assert_eq!((none, served.held().counts()), ([40, 200, 0], [40, 200, 280]));
    assert_eq!(found(&more), [40, 200, 200]);
}

#[test]
fn the_scripts_numbers_of_posts_have_an_author_who_is_not_registered() {
    let served = Served::start(Fake::default());
    let arguments = ["--graph", "generated:40x200", "--posts", "up-to", "--compose", "20"];
    let document = run(&served, &arguments).unwrap();
    let held = served.held();
    let authors: Vec<u32> = held.user_timelines.keys().copied().collect();
    assert!(!authors.contains(&0) && authors.contains(&40), "{authors:?}");
    assert_eq!(held.counts()[2] as u64, document.posts.verified);
    assert!(held.user_timelines.values().all(|posts| posts.len() <= 20));
}

#[test]
fn a_run_that_was_killed_anywhere_is_continued_without_a_post_twice() {
    let whole = Served::start(Fake::default());
    let requests = run(&whole, &SMALL).unwrap().requests;
    let whole = whole.held();
    std::thread::scope(|scope| {
        for share in [0.01, 0.07, 0.2, 0.45, 0.6, 0.7, 0.8, 0.9, 0.99] {
            let whole = &whole;
            scope.spawn(move || {
                let served = Served::start(Fake::default());
                run_killed(&served, &SMALL, (share * requests as f64) as u64);
                run_killed(&served, &SMALL, served.requests() + 30);
                run(&served, &SMALL).unwrap_or_else(|error| panic!("at {share}: {error}"));
                assert!(served.held().is_like(whole), "at {share}");
            });
        }
    });
}

#[test]
fn a_post_on_its_way_when_a_run_is_killed_is_not_sent_again() {
    let late = Duration::from_millis(400);
    let served = Served::start(Fake::with(Fault::LatePosts(late)));
    // Logins, looks at both lists before and after the follows, looks at posts, and eight posts.
    run_killed(&served, &SMALL, 40 + 40 + 40 + 200 + 40 + 40 + 40 + 8);
    assert_eq!(served.held().counts(), [40, 200, 0]);
    served.repair();
    run(&served, &SMALL).unwrap();
    assert_eq!(served.held().counts(), [40, 200, 200]);
}

#[test]
fn a_post_whose_failure_was_not_one_is_not_sent_again() {
    let served = Served::start(Fake::with(Fault::FalseFailures));
    let document = run(&served, &SMALL).unwrap();
    assert_eq!(served.held().counts(), [40, 200, 200]);
    assert_eq!(document.posts.verified, 200);
}

#[test]
fn an_application_that_refuses_all_posts_ends_the_run_with_its_reason() {
    let served = Served::start(Fake::with(Fault::NoPosts));
    let exit = run(&served, &SMALL).err().unwrap();
    assert_eq!(exit.code, Code::NoAnswer);
    assert!(exit.to_string().contains("500 Internal Server Error: compose_post failure"), "{exit}");
    // Each connection may have had one more in progress.
    assert!(served.held().composed <= 100 + 8);
}

/// Returns the error of a run over an application that something else has changed.
fn run_after(change: impl FnOnce(&mut Fake)) -> String {
    let served = Served::start(Fake::default());
    run(&served, &SMALL).unwrap();
    served.change(change);
    let exit = run(&served, &SMALL).err().unwrap();
    assert_eq!(exit.code, Code::No);
    exit.to_string()
}

#[test]
fn what_is_not_of_this_run_is_refused() {
    let error = run_after(|fake| fake.compose(3, "a post of a trial".into(), &[]));
    assert!(error.contains("username_3 has a post that is not of this initialisation"), "{error}");
    let error = run_after(|fake| {
        let text = fake.user_timelines[&4][1].clone();
        fake.compose(4, text, &[]);
    });
    assert!(error.contains("a post of username_4 is there twice"), "{error}");
    let error = run_after(|fake| {
        let other = (0..40).find(|one| *one != 5 && !fake.follows.contains(&(5, *one))).unwrap();
        fake.follows.insert((5, other));
    });
    assert!(error.contains("username_5 follows user"), "{error}");
    let error = run_after(|fake| drop(fake.home_timelines.get_mut(&6).unwrap().pop()));
    assert!(error.contains("the home timeline of username_6 has not"), "{error}");
}

#[test]
fn an_address_without_an_application_is_no_answer() {
    let served = Served::start(Fake::default());
    let command = command(&served, &SMALL);
    drop(served);
    let error = command.run().unwrap_err();
    assert_eq!(Exit::code_of(&error), 3);
    assert!(format!("{error:#}").contains("/wrk2-api/user/register: "), "{error:#}");
}

#[test]
fn wrong_arguments_send_nothing() {
    let served = Served::start(Fake::default());
    for (arguments, part) in [
        (&["--graph", "no-such-file"][..], "reading the graph no-such-file"),
        (&["--compose", "11", "--max-timeline", "10"], "--compose must not exceed --max-timeline"),
        (&["--compose", "100000", "--max-timeline", "100000"], "--compose 100000 is too large"),
    ] {
        let error = command(&served, arguments).run().unwrap_err();
        assert_eq!(Exit::code_of(&error), 2);
        assert!(format!("{error:#}").contains(part), "{error:#}");
    }
    assert_eq!(served.requests(), 0);
}
