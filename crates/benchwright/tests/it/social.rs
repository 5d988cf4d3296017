//! The original's workload scripts, unmodified, against the social network.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;

use crate::support::{Server, apps, benchwright, machine, peers, run_while};

const SCRIPTS: &str = "deathstarbench/socialNetwork/wrk2/scripts";
const USERS: usize = 30;
const POSTS: usize = 8;

/// Starts a network in which each user follows every other and has composed a few posts.
fn network() -> Server {
    let arguments = ["social", "all-in-one", "--password-hash", "salted-sha256"];
    let server = Server::start(Command::new(apps()).args(arguments));
    for user in 0..USERS {
        let form =
            format!("first_name=a&last_name=b&username=username_{user}&password=p&user_id={user}");
        post(&server, "user/register", &form);
    }
    for user in 0..USERS {
        for other in (0..USERS).filter(|other| *other != user) {
            post(&server, "user/follow", &format!("user_id={user}&followee_id={other}"));
        }
    }
    for user in 0..USERS {
        for number in 0..POSTS {
            let text =
                format!("post {number} @username_{} http://{}", (user + 1) % USERS, "x".repeat(64));
            let form = format!("username=username_{user}&user_id={user}&text={text}&post_type=0");
            post(&server, "post/compose", &form);
        }
    }
    server
}

fn post(server: &Server, path: &str, form: &str) {
    let address = server.url.trim_start_matches("http://");
    let mut stream = TcpStream::connect(address).unwrap();
    let length = form.len();
    write!(
        stream,
        "POST /wrk2-api/{path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\
         Content-Length: {length}\r\n\r\n{form}"
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.contains("\r\n\r\nSuccess"), "{path}: {answer}");
}

#[test]
fn the_originals_scripts_run_unmodified_against_the_social_network() {
    let test = "the_originals_scripts_run_unmodified_against_the_social_network";
    let Some(peers) = peers(test) else { return };
    let _machine = machine();
    let server = network();
    for folder in ["social-network", "social-network-determinism"] {
        for script in ["read-home-timeline", "read-user-timeline", "compose-post", "mixed-workload"]
        {
            let script = peers.join(SCRIPTS).join(folder).join(format!("{script}.lua"));
            let mut load = Command::new(benchwright());
            load.args(["load", &server.url, "--script"]).arg(&script);
            load.args(["--closed", "--connections", "8", "--shards", "1"]);
            load.args(["--duration", "1s", "--json"]).env("max_user_index", USERS.to_string());
            let ran = run_while(&mut load, |_| {});
            let document = ran.json();
            let counts = &document["counts"];
            let script = script.display();
            assert_eq!(counts["ok"], counts["intended"], "{script}: {}", document["outcomes"]);
            assert!(0.0 < counts["completed_inside"].as_f64().unwrap(), "{script}");
        }
    }
    let pages = |kind| server.metric(&format!("social_home_pages_total{{posts=\"{kind}\"}}"));
    assert!(0.0 < pages("full"), "every user follows all others");
    assert_eq!(pages("empty"), 0.0, "each timeline has more than 110 posts");
    for code in ["400", "500"] {
        for endpoint in ["home_timeline", "user_timeline", "compose"] {
            let series =
                format!("social_requests_total{{endpoint=\"{endpoint}\",code=\"{code}\"}}");
            assert_eq!(server.metric(&series), 0.0, "{series}");
        }
    }
}
