use load::driver::resp::{HAS_NO_PASSWORD, IS_FULL, WANTS_PASSWORD};
use net::Closed;

use super::*;

#[test]
fn servers_that_cannot_be_used_are_named_the_first_ones_of_many() {
    let told = |count: usize, why: Unopened| {
        let places: Vec<String> = (0..count).map(|n| format!("h{n}:1")).collect();
        let failure = NotMeasured::Unreachable { target: 0, why: Some(why) };
        let failure = explain(&failure, &places, of_redis);
        assert_eq!(failure.exit, Exit::NoAnswer);
        failure.error.to_string()
    };
    let refused = Unopened::By(Closed::Refused);
    let expected = "the server h0:1 cannot be used: nobody listens there\n  start Redis there, or correct redis.host, \
                    redis.port and redis.password";
    assert_eq!(told(1, refused), expected);
    assert!(told(2, refused).starts_with("the servers h0:1, h1:1 cannot"));
    assert!(told(4000, refused).starts_with("the servers h0:1, h1:1, h2:1 and 3,997 more cannot"));
    // What the usual remedy does not mend has its own alone.
    for (why, remedy) in [
        (WANTS_PASSWORD, "it wants a password; give it with -p redis.password=…"),
        (HAS_NO_PASSWORD, "it has no password; leave it out"),
        (IS_FULL, "use fewer --shards, each of which has a connection, or raise its maxclients"),
    ] {
        let told = told(1, Unopened::Unprepared(why));
        assert!(told.contains(remedy) && !told.contains("start it"), "{told}");
    }
}
