use expect_test::expect;

use super::*;

#[test]
fn each_reason_has_the_remedy_that_helps_against_it() {
    let words = Words { token: "--token-file", servers: "--servers", connections: "--threads" };
    let refused = [
        WANTS_TOKEN,
        Code::Denied.as_str(),
        Code::TopologyMismatch.as_str(),
        Code::Busy.as_str(),
        Code::Version.as_str(),
        Code::Magic.as_str(),
        Code::Ending.as_str(),
        "the handshake of the protocol took too long (--connect-timeout)",
    ];
    let refused = refused.map(|why| Some(Unopened::Unprepared(why)));
    let unopened = [Some(Closed::Refused), Some(Closed::Exhausted), None];
    let unopened = unopened.map(|how| how.map(Unopened::By));
    let all = refused.iter().chain(&unopened);
    let told: Vec<_> = all.map(|why| unusable(why.as_ref(), &words)).collect();
    expect![[r#"
        it wants a token; give it with --token-file
        it has another token; write the server's into the file of --token-file
        it was filled with another list of servers; write the list that it was filled with into --servers, in the same order
        it has no room for this connection; use fewer --threads, or start it with a higher limit of open files (`ulimit -n`)
        it needs another version of the protocol; use its version of benchwright
        it is not a server of the key-value store; correct --servers
        it is about to end; start it again with `benchwright kv serve`
        the handshake of the protocol took too long
          look at its log, or correct --servers
        nobody listens there
          start it with `benchwright kv serve`, or correct --servers
        this machine has no free local port or open file
          raise the limit of open files (`ulimit -n`), or use fewer --threads
        there is no answer
          start it with `benchwright kv serve`, or correct --servers
    "#]]
    .assert_eq(&(told.join("\n") + "\n"));
}
