//! YCSB's phases against servers as programs: Redis of the distribution, and two servers of the key-value store.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::support::{
    PATIENT, Ran, Scratch, Server, experiments, free_port, journal, machine, run_patiently,
    run_while, signal, tool, until,
};

/// A Redis that keeps nothing.
struct Redis {
    child: Child,
    port: u16,
    _scratch: Scratch,
}

impl Redis {
    fn start(arguments: &[&str]) -> Redis {
        let (port, scratch) = (free_port(), Scratch::new());
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "TERM", "--", "redis-server", "--bind", "127.0.0.1"]);
        command.args(["--port", &port.to_string(), "--save", "", "--dir"]).arg(scratch.path());
        let child = command.args(arguments).stdout(Stdio::null()).spawn().unwrap();
        until("Redis listens", || TcpStream::connect(("127.0.0.1", port)).is_ok());
        Redis { child, port, _scratch: scratch }
    }

    /// Sends a command of words without blanks, and returns the first line of its answer.
    fn tell(&self, command: &str) -> String {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.write_all(format!("{command}\r\n").as_bytes()).unwrap();
        let mut line = String::new();
        BufReader::new(stream).read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    fn count(&self, command: &str) -> u64 {
        self.tell(command).strip_prefix(':').unwrap().parse().unwrap()
    }

    /// The calls of a command since the statistics were reset.
    fn calls(&self, command: &str) -> u64 {
        self.statistic("commandstats", &format!("cmdstat_{command}:calls="))
    }

    /// The number behind these words in a part of the statistics; 0 if they are not there.
    fn statistic(&self, part: &str, begin: &str) -> u64 {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.write_all(format!("INFO {part}\r\nQUIT\r\n").as_bytes()).unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix(begin));
        line.map_or(0, |line| line.split(',').next().unwrap().parse().unwrap())
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A small form of a workload that ships.
fn ycsb(scratch: &Scratch, phase: &str, binding: &str, workload: char, given: &[String]) -> Ran {
    let file = experiments().join(format!("ycsb/workload{workload}"));
    let mut command = scratch.benchwright();
    command.args(["ycsb", phase, binding, "-P"]).arg(file).arg("--json");
    for property in ["recordcount=300", "operationcount=600", "maxscanlength=10", "fieldcount=3"] {
        command.args(["-p", property]);
    }
    command.args(["-p", "dataintegrity=true", "-threads", "7"]);
    for property in given {
        command.args(["-p", property]);
    }
    run_while(&mut command, |_| {})
}

/// The operations of a kind that were ok, by its statuses.
fn ok(document: &Value, kind: &str) -> u64 {
    document["times"][kind]["statuses"]["OK"].as_u64().unwrap_or(0)
}

/// The connections that were closed at the end.
fn closed(document: &Value) -> u64 {
    document["times"]["CLEANUP"]["ok"]["service"]["count"].as_u64().unwrap_or(0)
}

/// Checks that nothing has failed, whatever the kind.
fn check(ran: &Ran) -> Value {
    assert_eq!(ran.code, 0, "{}{}", ran.stderr, ran.stdout);
    let document = ran.json();
    assert_eq!(document["lost"], 0);
    for (kind, times) in document["times"].as_object().unwrap() {
        assert!(times["failed"].as_object().unwrap().is_empty(), "{kind}: {times}");
        let statuses = times["statuses"].as_object().unwrap();
        assert!(statuses.keys().all(|status| status == "OK"), "{kind}: {times}");
    }
    document
}

#[test]
fn redis_sees_the_operations_of_every_workload() {
    if !tool("redis_sees_the_operations_of_every_workload", "redis-server") {
        return;
    }
    let (redis, scratch) = (Redis::start(&[]), Scratch::new());
    let port = [format!("redis.port={}", redis.port)];
    for workload in 'a'..='f' {
        redis.tell("FLUSHALL");
        let loaded = check(&ycsb(&scratch, "load", "redis", workload, &port));
        assert_eq!(ok(&loaded, "INSERT"), 300);
        assert_eq!((redis.count("ZCARD _indices"), redis.count("DBSIZE")), (300, 301));
        redis.tell("CONFIG RESETSTAT");
        let document = check(&ycsb(&scratch, "run", "redis", workload, &port));
        assert_eq!(document["operations"], 600, "{workload}");
        let of = |kind| ok(&document, kind);
        let shards = std::thread::available_parallelism().unwrap().get().min(7) as u64;
        assert_eq!(closed(&document), shards, "a connection for each shard");
        let (reads, inserts) = (of("READ"), of("INSERT"));
        let calls = |command| redis.calls(command);
        assert_eq!(calls("hmset"), of("UPDATE") + inserts, "{workload}");
        assert_eq!(calls("zadd"), inserts, "{workload}");
        assert_eq!(calls("zrangebyscore"), of("SCAN"), "{workload}");
        assert_eq!(of("VERIFY"), reads, "{workload}");
        match workload {
            'e' => assert!(of("SCAN") <= calls("hmget") + calls("hgetall")),
            _ => assert_eq!(calls("hmget") + calls("hgetall"), reads, "{workload}"),
        }
        // The index has every record, also those that were inserted meanwhile.
        let records = 300 + inserts;
        assert_eq!((redis.count("ZCARD _indices"), redis.count("DBSIZE")), (records, records + 1));
    }
}

/// The commands that Redis executes, in their order.
struct Monitor(BufReader<TcpStream>);

impl Monitor {
    fn start(redis: &Redis) -> Monitor {
        let mut stream = TcpStream::connect(("127.0.0.1", redis.port)).unwrap();
        stream.write_all(b"MONITOR\r\n").unwrap();
        let mut monitor = Monitor(BufReader::new(stream));
        assert_eq!(monitor.line(), "+OK");
        monitor
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.0.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    /// The commands up to an ECHO of this word, apart from those that open a connection. No word has a quote.
    fn until(mut self, redis: &Redis, word: &str) -> Vec<Vec<String>> {
        redis.tell(&format!("ECHO {word}"));
        let mut commands = Vec::new();
        loop {
            // `+1700000000.123456 [0 127.0.0.1:4711] "HGETALL" "user1"`
            let line = self.line();
            let (_, words) = line.split_once("] ").unwrap();
            let words: Vec<String> =
                words.split(' ').map(|word| word.trim_matches('"').to_owned()).collect();
            match words[0].to_uppercase().as_str() {
                "ECHO" if words[1] == word => return commands,
                "HELLO" | "CLIENT" | "SELECT" | "PING" => {}
                _ => commands.push(words),
            }
        }
    }
}

/// Java's hash code of a text.
fn hash_code(text: &str) -> i32 {
    text.bytes().fold(0, |hash: i32, c| hash.wrapping_mul(31).wrapping_add(i32::from(c)))
}

/// The commands of the original's binding for the operations that `basic` prints, on this index.
fn commands_of(operations: &str, index: &mut BTreeSet<(i32, String)>) -> Vec<Vec<String>> {
    let mut commands = Vec::new();
    let command = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    for line in operations.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let (kind, key) = (words[0], words[2]);
        let score = hash_code(key);
        match kind {
            "READ" if line.contains("<all fields>") => commands.push(command(&["HGETALL", key])),
            "READ" => {
                let fields = words[4..].iter().copied().filter(|word| *word != "]");
                commands
                    .push(command(&["HMGET", key].into_iter().chain(fields).collect::<Vec<_>>()));
            }
            "INSERT" | "UPDATE" => {
                let fields = words[4..].iter().filter_map(|word| word.split_once('='));
                let fields = fields.flat_map(|(field, value)| [field, value]);
                commands
                    .push(command(&["HMSET", key].into_iter().chain(fields).collect::<Vec<_>>()));
                if kind == "INSERT" {
                    commands.push(command(&["ZADD", "_indices", &score.to_string(), key]));
                    index.insert((score, key.to_owned()));
                }
            }
            "SCAN" => {
                let (from, count) = (score.to_string(), words[3]);
                let range = ["ZRANGEBYSCORE", "_indices", &from, "+inf", "LIMIT", "0", count];
                commands.push(command(&range));
                let found = index.range((score, String::new())..).take(count.parse().unwrap());
                commands.extend(found.map(|(_, key)| command(&["HGETALL", key])));
            }
            _ => panic!("{line}"),
        }
    }
    commands
}

#[test]
fn redis_gets_the_commands_of_the_original_for_what_basic_prints() {
    const TEST: &str = "redis_gets_the_commands_of_the_original_for_what_basic_prints";
    if !tool(TEST, "redis-server") {
        return;
    }
    let (redis, scratch) = (Redis::start(&[]), Scratch::new());
    let properties = [
        "workload=site.ycsb.workloads.CoreWorkload recordcount=20 operationcount=80 fieldcount=2",
        "fieldlength=40 dataintegrity=true readproportion=3 updateproportion=3 insertproportion=1",
        "scanproportion=2 readmodifywriteproportion=1 maxscanlength=5 requestdistribution=zipfian",
    ]
    .join(" ");
    let run = |phase: &str, binding: &str| {
        let mut command = scratch.benchwright();
        command.args(["ycsb", phase, binding, "-threads", "1", "--shards", "1"]);
        let port = format!("redis.port={}", redis.port);
        let exported = format!("exportfile={binding}.txt");
        for property in properties.split(' ').chain([&exported[..], &port]) {
            command.args(["-p", property]);
        }
        let ran = run_while(&mut command, |_| {});
        // What `basic` reads is nothing that could be compared.
        let code = i32::from((phase, binding) == ("run", "basic"));
        assert_eq!(ran.code, code, "{}", ran.stderr);
        ran.stdout
    };
    let mut index = BTreeSet::new();
    for phase in ["load", "run"] {
        let expected = commands_of(&run(phase, "basic"), &mut index);
        let monitor = Monitor::start(&redis);
        run(phase, "redis");
        let commands = monitor.until(&redis, phase);
        assert!(if phase == "load" { commands.len() == 40 } else { 80 < commands.len() });
        for (seen, expected) in commands.iter().zip(&expected) {
            assert_eq!(seen, expected);
        }
        assert_eq!(commands.len(), expected.len());
    }
}

#[test]
fn redis_with_a_password_is_used_by_whoever_knows_it() {
    if !tool("redis_with_a_password_is_used_by_whoever_knows_it", "redis-server") {
        return;
    }
    let (redis, scratch) = (Redis::start(&["--requirepass", "hidden"]), Scratch::new());
    let port = redis.port;
    let given =
        |password: &str| [format!("redis.port={port}"), format!("redis.password={password}")];
    let loaded = ycsb(&scratch, "load", "redis", 'a', &given("hidden"));
    assert_eq!(check(&loaded)["properties"]["redis.password"], "***");
    let refused = ycsb(&scratch, "load", "redis", 'a', &given("wrong"));
    assert_eq!(refused.code, 3);
    assert!(refused.stderr.contains("refuses the password (WRONGPASS)"), "{}", refused.stderr);
    assert!(refused.stderr.contains("redis.password"), "{}", refused.stderr);
    // Redis answers the long command of an insert by closing the connection.
    let refused = ycsb(&scratch, "load", "redis", 'a', &[format!("redis.port={port}")]);
    assert_eq!(refused.code, 3);
    let remedy = "it wants a password; give it with -p redis.password=";
    assert!(refused.stderr.contains(remedy), "{}", refused.stderr);
    drop(redis);
    let refused = ycsb(&scratch, "run", "redis", 'a', &given("hidden"));
    assert_eq!((refused.code, refused.stderr.contains("nobody listens there")), (3, true));
}

#[test]
fn inserts_that_fail_are_repeated_after_a_pause() {
    const TEST: &str = "inserts_that_fail_are_repeated_after_a_pause";
    if !tool(TEST, "redis-server") {
        return;
    }
    let (redis, scratch) = (Redis::start(&[]), Scratch::new());
    let load = |limit: u32, meanwhile: &dyn Fn()| {
        redis.tell("CONFIG RESETSTAT");
        // Every write is answered by an error.
        redis.tell("CONFIG SET maxmemory 1");
        let mut command = scratch.benchwright();
        command.args(["ycsb", "load", "redis", "-P"]).arg(experiments().join("ycsb/workloada"));
        let limit = format!("core_workload_insertion_retry_limit={limit}");
        let port = format!("redis.port={}", redis.port);
        for property in ["recordcount=3", "core_workload_insertion_retry_interval=1", &limit, &port]
        {
            command.args(["-p", property]);
        }
        run_while(command.args(["-threads", "3", "--json"]), |_| meanwhile())
    };
    let given_up = load(1, &|| {});
    assert_eq!(given_up.code, 1, "{}", given_up.stderr);
    let failed = &given_up.json()["times"]["INSERT"]["failed"]["FAILED"]["service"]["count"];
    // The last attempt of one ends the load; each of the three was repeated once.
    assert!((4..=6).contains(&failed.as_u64().unwrap()), "{failed}");
    assert!(std::time::Duration::from_millis(800) <= given_up.took, "{:?}", given_up.took);
    let done = load(20, &|| {
        let failed = || redis.statistic("errorstats", "errorstat_OOM:count=");
        until("each insert has failed", || 3 <= failed());
        redis.tell("CONFIG SET maxmemory 0");
    });
    assert_eq!(done.code, 0, "{}{}", done.stderr, done.stdout);
    let document = done.json();
    assert_eq!((ok(&document, "INSERT"), redis.count("ZCARD _indices")), (3, 3));
    assert!(
        document["times"]["INSERT"]["failed"]["FAILED"]["service"]["count"].as_u64() >= Some(3)
    );
}

fn store(scratch: &Scratch) -> Server {
    let mut command = scratch.benchwright();
    command.args(["kv", "serve", "--ip", "127.0.0.1:0", "--storage", "none"]);
    Server::start(command.args(["--memory", "64MiB", "--threads", "1"]))
}

fn address(server: &Server) -> &str {
    server.url.split(' ').next().unwrap()
}

#[test]
fn two_servers_of_the_key_value_store_share_the_records() {
    let folders = [Scratch::new(), Scratch::new()];
    let scratch = Scratch::new();
    for workload in 'a'..='f' {
        let servers = folders.each_ref().map(store);
        let given = [format!("kv.servers={}", servers.each_ref().map(address).join(","))];
        let loaded = check(&ycsb(&scratch, "load", "kv", workload, &given));
        assert_eq!(ok(&loaded, "INSERT"), 300);
        let document = check(&ycsb(&scratch, "run", "kv", workload, &given));
        assert_eq!(document["operations"], 600, "{workload}");
        assert_eq!(ok(&document, "VERIFY"), ok(&document, "READ"), "{workload}");
        let closed = closed(&document);
        assert!(0 < closed && closed.is_multiple_of(2), "{closed} connections to two servers");
        // Every operation of the client is one of a server.
        let (mut reads, mut scans) = (0, 0);
        for server in &servers {
            let mut command = scratch.benchwright();
            let stats = run_while(command.args(["kv", "stats", address(server), "--json"]), |_| {});
            let operations = stats.json()["total"]["operations"].clone();
            reads += operations["READ.OK"].as_u64().unwrap_or(0);
            // A scan is pending first.
            scans += operations["SCAN.PENDING"].as_u64().unwrap_or(0);
            let inserted = operations["UPSERT.OK"].as_u64().unwrap();
            assert!(100 < inserted, "both have records: {operations}");
        }
        assert_eq!(reads, ok(&document, "READ"), "{workload}");
        // Some go on at the second server.
        let asked = ok(&document, "SCAN");
        assert!(asked < scans || scans == 0 && workload != 'e', "{workload}: {asked} and {scans}");
    }
}

#[test]
fn a_dead_server_fails_its_own_keys_only() {
    let folders = [Scratch::new(), Scratch::new()];
    let servers = folders.each_ref().map(store);
    let scratch = Scratch::new();
    let given = [format!("kv.servers={}", servers.each_ref().map(address).join(","))];
    check(&ycsb(&scratch, "load", "kv", 'c', &given));
    let [living, dying] = &servers;
    let file = experiments().join("ycsb/workloadc");
    let url = format!("kv://{},{}", address(living), address(dying));
    let mut command = scratch.benchwright();
    command.args([
        "load",
        &url,
        "--rate",
        "200/s",
        "--duration",
        "3s",
        "-c",
        "2",
        "--pipeline",
        "8",
    ]);
    command
        .args(["--shards", "1", "--no-tui", "--progress", "lines", "--json", "--ycsb"])
        .arg(file);
    command.args(["--ycsb-property", "recordcount=300", "--ycsb-property", "fieldcount=3"]);
    command.args(["--ycsb-property", "requestdistribution=uniform"]);
    let ran = run_while(&mut command, |_| {
        // In the middle of the load; when exactly does not matter.
        crate::support::sleep(std::time::Duration::from_secs(1));
        signal(dying.pid(), "KILL");
    });
    let label = &ran.json()["labels"]["READ"];
    let outcomes = &label["outcomes"];
    let count = |name: &str| outcomes[name].as_u64().unwrap_or(0);
    let failed: u64 = ["connect", "reset", "write", "unfinished"].map(count).iter().sum();
    // A half of the keys is of each server; the load has about 600 requests.
    assert!(200 < count("ok"), "{label}");
    assert!(20 < failed, "{label}");
}

#[test]
fn a_load_of_a_store_has_the_kinds_of_operations_as_labels() {
    const TEST: &str = "a_load_of_a_store_has_the_kinds_of_operations_as_labels";
    if !tool(TEST, "redis-server") {
        return;
    }
    let (redis, scratch) = (Redis::start(&[]), Scratch::new());
    check(&ycsb(&scratch, "load", "redis", 'f', &[format!("redis.port={}", redis.port)]));
    let url = format!("redis://127.0.0.1:{}", redis.port);
    let load = |arguments: &[&str]| {
        let file = experiments().join("ycsb/workloadf");
        let mut command = scratch.benchwright();
        command.args(["load", &url, "--ycsb"]).arg(file);
        command.args(["--ycsb-property", "recordcount=300", "--json"]);
        run_while(command.args(arguments), |_| {})
    };
    let ran = load(&["--closed", "-c", "2", "--pipeline", "4", "--requests", "500"]);
    let document = ran.json();
    let ok = |label: &str| document["labels"][label]["outcomes"]["ok"].as_u64().unwrap_or(0);
    assert_eq!(document["outcomes"]["ok"], 500, "{}", ran.stderr);
    assert_eq!(ok("READ"), 500, "the reads of read-modify-writes are among them");
    assert_eq!(ok("UPDATE"), ok("READ-MODIFY-WRITE"));
    assert!(100 < ok("UPDATE"));
    // Open loop, too.
    let ran = load(&["--rate", "100/s", "--duration", "1s", "--slo", "UPDATE.p99<=10s"]);
    assert!(0 < ran.json()["labels"]["UPDATE"]["outcomes"]["ok"].as_u64().unwrap());
    for (arguments, why) in [
        (&["--closed", "--slo", "LOGIN.p99<=1s"][..], "write one of READ, UPDATE"),
        (
            &["--closed", "--ycsb-property", "recordcount=0"],
            "--ycsb-property recordcount=0: the property `recordcount`",
        ),
        (&["--closed", "--insecure"], "--insecure is for TLS"),
    ] {
        let refused = load(arguments);
        assert_eq!((refused.code, refused.stderr.contains(why)), (2, true), "{}", refused.stderr);
    }
}

#[test]
fn a_plan_refuses_wrong_properties_as_a_run_does() {
    let scratch = Scratch::new();
    let spec = experiments().join("kv-ycsb.yaml");
    let refusal = |verb: &str, set: &str| {
        let mut command = scratch.benchwright();
        command.arg(verb).arg(&spec).args(["--profile", "ci", "--set", set]);
        let ran = run_while(&mut command, |_| {});
        assert_eq!(ran.code, 2, "{}", ran.stderr);
        ran.stderr
    };
    for (set, why) in [
        ("vars.records=none", "workload.properties recordcount=none: the property `recordcount`"),
        (
            "workload.properties={recordcounts: '9'}",
            "workload.properties recordcounts: nothing reads",
        ),
    ] {
        let (planned, ran) = (refusal("plan", set), refusal("run", set));
        assert!(planned.contains(why), "{planned}");
        assert_eq!(planned, ran);
    }
}

#[test]
fn basic_has_one_document_and_says_that_its_target_is_missed() {
    let scratch = Scratch::new();
    let mut command = scratch.benchwright();
    command.args(["ycsb", "run", "basic", "-P"]).arg(experiments().join("ycsb/workloada"));
    for property in [
        "operationcount=0",
        "maxexecutiontime=1",
        "basicdb.simulatedelay=10",
        "basicdb.randomizedelay=false",
        "measurementtype=timeseries",
    ] {
        command.args(["-p", property]);
    }
    let ran = run_while(command.args(["-target", "1000", "-threads", "1", "-s", "--json"]), |_| {});
    assert_eq!(ran.code, 3, "{}", ran.stderr);
    assert!(ran.stderr.contains("the target is too high"), "{}", ran.stderr);
    let document = ran.json();
    let of = |name: &str| document[name].as_u64().unwrap();
    assert!(of("operations") <= 100 && 900 <= of("unfinished"), "{document:#}");
    assert!(500_000_000 < of("late_ns"), "{document:#}");
}

#[test]
fn a_server_that_was_never_started_is_named_and_the_records_are_counted() {
    let (folder, scratch) = (Scratch::new(), Scratch::new());
    let server = store(&folder);
    let absent = format!("127.0.0.1:{}", free_port());
    let given = [format!("kv.servers={},{absent}", address(&server))];
    let ran = ycsb(&scratch, "load", "kv", 'a', &given);
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    let document = ran.json();
    assert_eq!(document["failed_servers"], serde_json::json!([absent]));
    let missing = document["uninserted"].as_u64().unwrap();
    assert_eq!(missing + ok(&document, "INSERT"), 300);
    let told = format!("operations had no answer from the server {absent}; the first failure");
    assert!(ran.stderr.contains(&told), "{}", ran.stderr);
    let told = format!("error: {missing} of 300 records were not inserted");
    assert!(ran.stderr.contains(&told), "{}", ran.stderr);
}

/// Guide 5: one and two servers are filled, checked and loaded.
#[test]
fn the_experiment_loads_all_servers_of_the_store() {
    let _machine = machine();
    let scratch = Scratch::new();
    let spec = experiments().join("kv-ycsb.yaml");
    let mut command = scratch.benchwright();
    command.arg("run").arg(spec).args(["--profile", "ci", "--out", "out", "--json"]).args(PATIENT);
    let out = scratch.path().join("out");
    if run_patiently(&mut command, &out).is_ok() {
        let entries = journal(&out);
        for servers in ["servers=1", "servers=2"] {
            let last = entries.iter().rfind(|entry| entry["cell"] == servers).unwrap();
            let file = out.join(format!("trials/{}/load.json", last["trial"]));
            let load: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
            let completed = |label: &str| load["labels"][label]["completed"].as_u64().unwrap();
            let (read, updated) = (completed("READ"), completed("UPDATE"));
            assert!(0 < completed("READ-MODIFY-WRITE") && 0 < updated, "{servers}: {load:#}");
            assert!(updated < read, "{servers}: {read} and {updated}");
        }
    }
    assert_eq!(scratch.remains(), [""; 0]);
}
