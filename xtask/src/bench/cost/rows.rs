//! The rows of each bench: the programs, the loads, and the bounds.

use super::system::Store;
use super::{Counted, Figure, Table};
use crate::bench::goal::Goal;
use crate::bench::machine::Side;

/// A system, and its loads one after the other.
pub(super) struct Row {
    /// The places of its data, or the kind of its load.
    pub(super) what: &'static str,
    pub(super) side: Side,
    pub(super) stores: &'static [Store],
    pub(super) has_postgres: bool,
    /// The arguments of each service, from its name on.
    pub(super) services: &'static [&'static str],
    pub(super) instances: usize,
    /// The replicas of each service in an instance.
    pub(super) replicas: usize,
    pub(super) steps: &'static [Step],
    /// The goals of its figures, in order.
    pub(super) goals: &'static [Goal],
}

/// A step with its words. Those of a load are the path, and arguments before those of the table.
#[derive(Clone, Copy)]
pub(super) enum Step {
    /// A load that is not measured.
    Load(&'static str),
    /// A load that is measured. At first is the name of its figure.
    Measured(&'static str, &'static str),
    /// A command of the application, which prints the rate of its requests.
    Rate(&'static str, Side, &'static str),
}

const ROW: Row = Row {
    what: "",
    side: Side::Server,
    stores: &[],
    has_postgres: false,
    services: &[],
    instances: 1,
    replicas: 1,
    steps: &[],
    goals: &[Goal::None],
};

const WARM_UP: Step = Step::Load("/ --closed --connections {connections} --duration 1s");
const SATURATED: Step =
    Step::Measured("saturated", "/ --closed --connections {connections} --duration 6s");

/// Guide 1's mixed workload on the hotel application, in five deployments.
pub(in crate::bench) const HOTEL: Table = Table {
    title: "The cost of a request of the hotel application",
    heading: "CPU of all processes per request, on one CPU; a booking survives kill -9 but not a \
              power failure",
    unit: "request",
    figure: Figure::MicrosecondsOfAll,
    packages: &["memcached", "postgresql"],
    command: "benchwright-apps hotel",
    load: "--warm-up 0s --shards 1 --script {root}/experiments/hotel-mixed.lua",
    counted: Counted::Completed,
    rows: &[
        EMBEDDED,
        Row {
            what: "2 instances × 2 replicas, rates and profiles in the services' memory, \
                   store a process per instance",
            instances: 2,
            replicas: 2,
            goals: &[Goal::most(120.0), Goal::None],
            ..EMBEDDED
        },
        Row {
            what: "1 instance × 1 replica, rates and profiles in one memcached, \
                   store a process per instance",
            stores: &[MEMCACHED],
            goals: &[Goal::None; 2],
            ..EMBEDDED
        },
        Row {
            what: "1 instance × 1 replica, rates and profiles in one memcached, \
                   store one PostgreSQL, a database per instance",
            stores: &[MEMCACHED],
            has_postgres: true,
            goals: &[Goal::most(160.0), Goal::None],
            ..EMBEDDED
        },
        Row {
            what: "2 instances × 2 replicas, rates and profiles in one memcached, \
                   store one PostgreSQL, a database per instance",
            stores: &[MEMCACHED],
            has_postgres: true,
            instances: 2,
            replicas: 2,
            goals: &[Goal::None; 2],
            ..EMBEDDED
        },
    ],
    closing: "\
The original of 2022 on the same kind of machine (two CPUs, shared with its generator) takes 885 µs
per request saturated (closed loop, 32 connections), 947 to 2,118 µs in open loops of 1,904/s to
500/s: one sweep, tracing off, MongoDB replaced by an in-memory server.
Ours does not do this work: looking up replicas in a registry (they are listed); tracing interceptors
around each call; garbage collection; encoding cached documents as JSON (they are protocol buffers);
with the embedded store, requests to a cache for rates and profiles (they are in the services' memory);
with any store, requests to a cache for rooms (one request to the store for all hotels of a search).
Ours does more: logins query the store, rooms are checked and reserved atomically, a booking is in a
file before it is acknowledged.",
};

/// The smallest deployment, for continuous integration. A shared machine may be twice as slow for an
/// hour, and a time that was measured once proves little: only a cost of another order fails.
pub(in crate::bench) const HOTEL_QUICK: Table = Table {
    packages: &[],
    rows: &[Row { goals: &[Goal::most(360.0), Goal::most(660.0)], ..EMBEDDED }],
    ..HOTEL
};

const EMBEDDED: Row = Row {
    what: "1 instance × 1 replica, rates and profiles in the services' memory, \
           store a process per instance",
    services: &[
        "store",
        "geo --store {store}",
        "rate --store {store} --cache {cache}",
        "profile --store {store} --cache {cache}",
        "recommendation --store {store}",
        "user --store {store}",
        "reservation --store {store}",
        "review --store {store} --cache {cache}",
        "attractions --store {store}",
        "search --geo {geo} --rate {rate}",
        "frontend --search {search} --profile {profile} --recommendation {recommendation} --user {user} \
         --reservation {reservation} --review {review} --attractions {attractions} --store {store}",
    ],
    steps: &[
        WARM_UP,
        SATURATED,
        Step::Measured(
            "at half of that rate",
            "/ --rate {half} --arrivals poisson --connections {connections} --duration 6s",
        ),
    ],
    goals: &[Goal::most(90.0), Goal::most(220.0)],
    ..ROW
};

const MEMCACHED: Store = Store {
    part: "memcached",
    program: "memcached",
    package: "the package memcached",
    arguments: "-l 127.0.0.1 -p {port} -U 0 -m 64 -t 1 -u nobody",
    place: "cache",
    // Instances share it, each with keys of its own.
    address: "memcached://127.0.0.1:{port}/{instance}",
};

/// Logins by the cost of bcrypt, each step of which doubles the time of a login.
pub(in crate::bench) const USERS: Table = Table {
    title: "The cost of a login",
    heading: "Logins per CPU-second, one hashing thread, closed loop of 4 connections",
    unit: "login",
    figure: Figure::PerCpuSecond("users"),
    packages: &[],
    command: "benchwright-apps",
    load: "--closed --shards 1 --warm-up 0s --script {root}/experiments/users-login.lua \
           --slo failures<=0%",
    counted: Counted::Completed,
    rows: &[
        LOGINS,
        Row {
            what: "bcrypt cost 10 (guide 4: about 15)",
            services: &["users --hashing-threads 1 --cost 10"],
            ..LOGINS
        },
    ],
    // A JVM with one CPU for each replica.
    closing: "Guide 4, cost 10, on its own machine: about 15 logins per CPU-second.",
};

/// The cost of the experiment's default.
const LOGINS: Row = Row {
    what: "bcrypt cost 4",
    services: &["users --hashing-threads 1 --cost 4"],
    steps: &[
        // The script's request has the same content as a registration.
        Step::Load("/auth/register --connections 1 --requests 1"),
        Step::Measured("", "/auth/login --connections 4 --duration 6s"),
    ],
    ..ROW
};

/// Guide 2's reads of home timelines, and the initialiser. The graph has 962 users.
pub(in crate::bench) const SOCIAL: Table = Table {
    title: "The cost of a home-timeline read",
    heading: "CPU of all processes per read, on one CPU; 962 users, 110 posts of each; a post \
              survives kill -9 but not a power failure",
    unit: "read",
    figure: Figure::MicrosecondsOfAll,
    packages: &["redis-server"],
    command: "benchwright-apps social",
    // An answer without posts is cheaper, and so is an error.
    load: "--warm-up 0s --shards 1 --script {root}/experiments/social-home.lua \
           --slo failures<=0% -- 962",
    counted: Counted::Completed,
    rows: &[
        Row {
            what: "all services in one process, which shares two CPUs with the initialiser",
            services: &["all-in-one --password-hash salted-sha256 --max-timeline 1000000"],
            goals: &[Goal::least(10_000.0)],
            ..SHARED
        },
        SHARED,
        TIMELINES,
        Row {
            what: "timelines in Redis, on its disk within two seconds",
            stores: &[REDIS],
            ..TIMELINES
        },
        Row {
            what: "timelines in Redis, read from 2 replicas, on its disk within two seconds",
            stores: &[REDIS, REDIS_REPLICA, REDIS_REPLICA],
            ..TIMELINES
        },
    ],
    closing: "\
The original takes about 2,000 µs of CPU per request (2,004 at 500/s of its mixed workload; 958 home \
reads per second saturate two CPUs), of which nginx with its Lua decoder and JSON encoder takes 55 %; \
its initialiser makes about 200 requests per second. \
Ours does not do this work: encoding a page as JSON at each read (a post is rendered once, when it is \
stored, and a page is a concatenation); a cache of posts beside their store (posts are in the store's \
memory), nor a new connection to it for each read; Thrift in an interpreted language; a thread for each \
connection; tracing. Without Redis a read asks no other server for the timeline. \
Ours does this work too: a call over a connection for each service, four in a read, each decoded and \
encoded; the whole of a page passes through all of them.",
};

/// Redis does not cut timelines at a length; with this bound no timeline is as long as that of the store.
/// Passwords are cheap: bcrypt would be most of a registration.
const INITIALISE: &str = "init --address {front} --compose 110 --json --max-timeline 1000000";

/// A process for each service, which share two CPUs with the initialiser.
const SHARED: Row = Row {
    what: "a process for each service, which share two CPUs with the initialiser",
    side: Side::Both,
    steps: &[Step::Rate("initialiser, requests/s", Side::Both, INITIALISE)],
    goals: &[Goal::None],
    ..TIMELINES
};

const TIMELINES: Row = Row {
    what: "timelines in the embedded store",
    services: &[
        "store --max-timeline 1000000",
        "post-storage --store {store}",
        "user --store {store} --password-hash salted-sha256",
        "social-graph --store {store} --user {user}",
        "home-timeline --store {timelines} --redis {redis} --redis-replicas {redis-replicas} \
         --post-storage {post-storage} --social-graph {social-graph}",
        "user-timeline --store {timelines} --redis {redis} --redis-replicas {redis-replicas} \
         --post-storage {post-storage}",
        "url-shorten --store {store}",
        "user-mention --store {store}",
        "text --url-shorten {url-shorten} --user-mention {user-mention}",
        "media",
        "unique-id",
        "compose-post --text {text} --user {user} --media {media} --unique-id {unique-id} \
         --post-storage {post-storage} --user-timeline {user-timeline} --home-timeline {home-timeline}",
        "front --store {store} --user {user} --social-graph {social-graph} --compose-post {compose-post} \
         --user-timeline {user-timeline} --home-timeline {home-timeline} --redis {redis} \
         --redis-replicas {redis-replicas}",
    ],
    steps: &[
        Step::Rate("initialiser with its own CPU, requests/s", Side::Client, INITIALISE),
        WARM_UP,
        SATURATED,
        // The guide has a tenth of a connection for each request per second.
        Step::Measured(
            "at half of that rate",
            "/ --rate {half} --arrivals poisson --connections {tenth} --duration 6s",
        ),
    ],
    goals: &[Goal::None, Goal::at_most(400.0, 250.0), Goal::at_most(400.0, 250.0)],
    ..ROW
};

/// A rewrite of the file would be in the way of a measurement.
const REDIS: Store = Store {
    part: "redis",
    program: "redis-server",
    package: "the package redis-server",
    arguments: "--bind 127.0.0.1 --port {port} --save {none} --repl-diskless-sync-delay 0 --dir {data} \
                --appendonly yes --appendfsync everysec --auto-aof-rewrite-percentage 0",
    place: "redis",
    address: "127.0.0.1:{port}",
};
const REDIS_REPLICA: Store = Store {
    part: "redis-replica",
    arguments: "--bind 127.0.0.1 --port {port} --save {none} --repl-diskless-sync-delay 0 --dir {data} \
                --replica-serve-stale-data no --replicaof 127.0.0.1 {redis-port}",
    place: "redis-replicas",
    ..REDIS
};

/// Events through the channel to one subscriber, by the way in which they are kept. Brokers are measured
/// behind the same channel. The rates are those that the CPU of the generator and the receiver carries.
pub(in crate::bench) const CHANNEL: Table = Table {
    title: "The cost of an event",
    heading: "Events per CPU-second of the channel's process, 100 B, one subscriber, none lost",
    unit: "event",
    figure: Figure::PerCpuSecond("channel"),
    packages: &[],
    command: "benchwright-apps",
    // All events are in the measurement, as all CPU time is.
    load: "--events binary --receive 127.0.0.1:18082 --shards 1 --warm-up 0s --duration 5s",
    counted: Counted::Accepted,
    rows: &[
        Row {
            what: "in memory, enqueued",
            services: &[
                "channel --subscriber http://127.0.0.1:18082/ --acknowledge enqueued --pipeline 64 \
                 --in-flight 512",
            ],
            steps: &[Step::Measured("", "/ --rate 40k/s --connections 4 --pipeline 64")],
            goals: &[Goal::at_least(50_000.0, 80_000.0)],
            ..ROW
        },
        Row {
            what: "own log, durable: fsync of each group",
            services: &[
                "channel --subscriber http://127.0.0.1:18082/ --acknowledge durable --pipeline 64 \
                 --in-flight 512 --data {scratch}/log",
            ],
            steps: &[Step::Measured("", "/ --rate 15k/s --connections 128 --pipeline 1")],
            goals: &[Goal::at_least(20_000.0, 40_000.0)],
            ..ROW
        },
        Row {
            what: "in memory, enqueued, one request at a time on each connection",
            services: &["channel --subscriber http://127.0.0.1:18082/ --acknowledge enqueued"],
            steps: &[Step::Measured("", "/ --rate 10k/s --connections 128 --pipeline 1")],
            ..ROW
        },
        Row {
            what: "own log, durable, one request at a time on each connection",
            services: &["channel --subscriber http://127.0.0.1:18082/ --acknowledge durable \
                 --data {scratch}/log"],
            steps: &[Step::Measured("", "/ --rate 10k/s --connections 128 --pipeline 1")],
            ..ROW
        },
        BROKER,
        Row {
            what: "NATS JetStream, durable: file store, fsync every 2 minutes (its default)",
            stores: &[Store {
                part: "nats",
                program: "nats-server",
                package: "it with `cargo xtask brokers`",
                arguments: "-a 127.0.0.1 -js -p {port} -sd {data}",
                place: "broker",
                address: "nats://127.0.0.1:{port}",
            }],
            ..BROKER
        },
    ],
    closing: "A lost or doubled event fails the bench.",
};

const BROKER: Row = Row {
    what: "Redis streams, durable: appendfsync everysec",
    stores: &[Store {
        arguments: "--save {none} --appendonly yes --appendfsync everysec --port {port} --dir {data}",
        place: "broker",
        address: "redis://127.0.0.1:{port}",
        ..REDIS
    }],
    services: &[
        "channel --subscriber http://127.0.0.1:18082/ --acknowledge durable --broker {broker}",
    ],
    steps: &[Step::Measured("", "/ --rate 5k/s --connections 128 --pipeline 1")],
    ..ROW
};

/// Arrivals at `benchwright receive`, which takes and notes them, by the way in which they come.
pub(in crate::bench) const RECEIVE: Table = Table {
    title: "The cost of an arrival",
    heading: "Events per CPU-second of `benchwright receive --notes`, 100 B each, none lost",
    unit: "event",
    figure: Figure::PerCpuSecond("receive"),
    packages: &[],
    command: "benchwright",
    load: "--duration 5s --shards 1 --notes {scratch}/sent",
    counted: Counted::Arrived,
    rows: &[
        ARRIVALS,
        Row {
            what: "structured, 16 connections, up to 16 events at once",
            steps: &[Step::Measured(
                "",
                "/ --events structured --connections 16 --pipeline 16 --rate 60k/s",
            )],
            goals: &[Goal::at_least(100_000.0, 150_000.0)],
            ..ARRIVALS
        },
        // At the rate of the goal itself.
        Row {
            what: "binary, 256 connections, one event at a time",
            steps: &[Step::Measured("", "/ --events binary --connections 256 --rate 100k/s")],
            goals: &[Goal::at_least(100_000.0, 150_000.0)],
            ..ARRIVALS
        },
        // A wait and a wake-up for nearly each event.
        Row {
            what: "binary, 256 connections, one event at a time, a third of the rate",
            steps: &[Step::Measured("", "/ --events binary --connections 256 --rate 30k/s")],
            goals: &[Goal::None],
            ..ARRIVALS
        },
    ],
    closing: "A lost or doubled event fails the bench.",
};

const ARRIVALS: Row = Row {
    what: "binary, 16 connections, up to 16 events at once",
    services: &["receive --until-quiet 1s --json --notes {scratch}/received"],
    steps: &[Step::Measured("", "/ --events binary --connections 16 --pipeline 16 --rate 60k/s")],
    goals: &[Goal::at_least(100_000.0, 200_000.0)],
    ..ROW
};
