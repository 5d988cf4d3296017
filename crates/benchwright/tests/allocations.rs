//! The engine's allocations: none per request, and little memory per connection.

use std::alloc::{GlobalAlloc, Layout, System};
use std::backtrace::Backtrace;
use std::cell::{Cell, RefCell};
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, mpsc};

use ::measure::pace::{Distribution, Shape, Think};
use ::measure::{Instant, Nanos, Rate};
use load::driver::http1::{Http1, HttpWorkload, Static};
use load::events::{Events, Mode, Template};
use load::measure;
use load::measurement::{Plan, Pool};
use load::network::Network;
use load::observe::{Completion, Observer, Turn, Window};
use load::pacing::{Offered, Pacing, Sharing};
use load::shard::Limits;
use mix::{Checked, Checks, Mix, Mixed};
use net::{Interface, Timer, process, uring};
use script::{Defaults, Program, Script};

/// The alignment of LuaJIT's allocations: it uses the same allocator, through mlua. Nothing that
/// our hot path could allocate has this alignment.
const LUA: usize = 16;

struct Counting;

#[global_allocator]
static COUNTING: Counting = Counting;

thread_local! {
    /// The allocations of this thread so far, without LuaJIT's.
    static OURS: Cell<u64> = const { Cell::new(0) };
    static OF_LUA: Cell<u64> = const { Cell::new(0) };
    /// Whether this thread's next allocation of ours is traced.
    static TRACING: Cell<bool> = const { Cell::new(false) };
    static TRACE: RefCell<Option<Backtrace>> = const { RefCell::new(None) };
}

/// The bytes that the whole process has allocated now.
static HELD: AtomicI64 = AtomicI64::new(0);

fn hold(more: usize, less: usize) {
    HELD.fetch_add(more as i64 - less as i64, Ordering::Relaxed);
}

fn count(layout: Layout) {
    let of = if layout.align() < LUA { &OURS } else { &OF_LUA };
    // A thread that is ending has no thread-local variables any more.
    let _ = of.try_with(|of| of.set(of.get() + 1));
    if layout.align() < LUA && TRACING.try_with(|tracing| tracing.take()).unwrap_or(false) {
        let so_far = OURS.get();
        TRACE.set(Some(Backtrace::force_capture()));
        OURS.set(so_far);
    }
}

#[expect(unsafe_code, reason = "an allocator is unsafe by its nature; this one only counts")]
// SAFETY: every call is passed on unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout);
        hold(layout.size(), 0);
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        hold(0, layout.size());
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(layout);
        hold(size, layout.size());
        // SAFETY: the caller keeps the contract of `realloc`.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

type Workload = Box<dyn HttpWorkload + Send>;

/// An observer that counts allocations on the shard's thread, from the start of the window on.
#[derive(Default)]
struct Watch {
    window: Option<Window>,
    before: Option<Counts>,
    counted: Counts,
    /// Where the first of ours was made.
    first: Option<Backtrace>,
    completed: u64,
    stop: Arc<AtomicBool>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    requests: u64,
    ours: u64,
    of_lua: u64,
}

/// The number of requests that must cause no allocation.
const REQUESTS: u64 = 100_000;
/// The number of requests before them, whatever the warm-up's time was enough for: buffers grow to
/// the length of the longest request.
const BEFORE: u64 = 2_000;

impl Observer for Watch {
    fn begin(&mut self, _start: Instant, window: Window) {
        self.window = Some(window);
    }

    fn completed(&mut self, _completion: &Completion) {
        self.completed += 1;
    }

    fn turn(&mut self, now: Instant, _turn: Turn) {
        let is_early = self.window.is_none_or(|window| now < window.start);
        if is_early || self.completed < BEFORE {
            return;
        }
        let all = Counts { requests: self.completed, ours: OURS.get(), of_lua: OF_LUA.get() };
        let before = *self.before.get_or_insert_with(|| {
            TRACING.set(true);
            all
        });
        self.counted = Counts {
            requests: all.requests - before.requests,
            ours: all.ours - before.ours,
            of_lua: all.of_lua - before.of_lua,
        };
        self.first = self.first.take().or_else(|| TRACE.take());
        if REQUESTS <= self.counted.requests {
            self.stop.store(true, Ordering::Relaxed);
        }
    }
}

/// `benchwright reference` as a separate process; it ends with its standard input.
struct Server {
    child: Child,
    address: std::net::SocketAddr,
}

impl Server {
    fn start() -> Server {
        let mut command = Command::new(env!("CARGO_BIN_EXE_benchwright"));
        command.args(["reference", "--while-stdin"]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("ready http://").unwrap().parse().unwrap();
        Server { child, address }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.child.stdin.take();
        self.child.wait().unwrap();
    }
}

fn plan(server: &Server, pacing: Pacing, connections: usize) -> Plan {
    let pools = vec![Pool { endpoints: vec![server.address.into()], connections }];
    Plan {
        warm_up: Nanos::from_millis(300),
        drain: Nanos::from_secs(5),
        limits: Limits { open_gap: Nanos::from_micros(100), ..Limits::default() },
        // Several intervals of the open loads end while requests are counted. The shard makes another
        // buffer only if their writer, a thread beside it, did not run for two of them.
        interval: Nanos::from_secs(1),
        timer: Timer::Sleep,
        ..Plan::whole(pools, pacing, Nanos::from_secs(120))
    }
}

/// Locks the tests, so that one runs at a time: the allocated bytes are those of all threads.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Returns the counts, and where the first allocation of ours was made.
fn counts_of(
    workload: Workload,
    pacing: Pacing,
    interface: Interface,
) -> (Counts, Option<Backtrace>) {
    let server = Server::start();
    let network = Network { interface, why: String::new() };
    let plan = Plan { network, ..plan(&server, pacing, 64) };
    let stop = Arc::new(AtomicBool::new(false));
    let watch = Watch { stop: Arc::clone(&stop), ..Watch::default() };
    // A viewer receives the live figures.
    let (sender, receiver) = mpsc::sync_channel(16);
    let viewer = std::thread::spawn(move || receiver.into_iter().count());
    let driver = Http1::new(64, workload);
    let measured = measure(&plan, vec![driver], vec![watch], Some(sender), &stop).unwrap();
    assert!(0 < viewer.join().unwrap());
    let Watch { counted, first, .. } = measured.watchers.into_iter().next().unwrap();
    (counted, first)
}

fn fixed() -> Static {
    Static::new("GET", "/", &[("Host", "localhost")], b"")
}

fn closed() -> Pacing {
    Pacing::Closed { think: Think::NONE }
}

fn open() -> Pacing {
    let shape = Shape::constant(Rate::per_second(25_000.0).unwrap());
    Pacing::Open {
        load: Offered::Drawn { shape, distribution: Distribution::Poisson },
        sharing: Sharing::InTurn,
    }
}

fn check(workload: impl Fn() -> Workload) {
    let _alone = alone();
    let mut cases = vec![(closed(), Interface::Epoll), (open(), Interface::Epoll)];
    // If io_uring is refused, the tests of `network` report it.
    if uring::granted().is_ok() {
        cases.push((closed(), Interface::Uring));
    }
    for (pacing, interface) in cases {
        let (counts, first) = counts_of(workload(), pacing.clone(), interface);
        assert!(REQUESTS <= counts.requests, "{pacing:?} {interface:?}: {counts:?}");
        assert_eq!(counts.ours, 0, "{pacing:?} {interface:?}: {counts:?}, the first: {first:#?}");
    }
}

#[test]
fn the_same_request_allocates_nothing() {
    check(|| Box::new(fixed()));
}

#[test]
fn checking_an_answer_allocates_nothing() {
    check(|| {
        let rules = "status=2xx body~x bytes>=1 header:Content-Type=text/plain";
        Box::new(Checked::new(fixed(), Arc::new(Checks::parse(rules).unwrap())))
    });
}

#[test]
fn an_event_allocates_nothing() {
    for mode in [Mode::Binary, Mode::Structured] {
        check(|| {
            Box::new(Events::new(&Template {
                mode,
                source: "/benchwright/1",
                kind: "benchwright.event",
                size: 100,
                target: "/",
                fields: &[("Host", "localhost")],
            }))
        });
    }
}

#[test]
fn a_mix_allocates_nothing() {
    check(|| {
        let text = [
            r#"{"weight":60,"target":"/{{seq}}?q={{uniform 1 2 4}}&z={{zipf 1 1000}}"}"#,
            r#"{"weight":40,"method":"POST","target":"/u","headers":{"X-Id":"{{uuid}}"},"#,
            r#""body":"{\"name\":\"{{hex 8}} {{int 1 100000}}\"}","check":"status=200 body~x"}"#,
        ];
        let source = mix::Source {
            file: "mix.jsonl",
            text: &format!("{}\n{}{}", text[0], text[1], text[2]),
            data: None,
            fields: &[("Host".to_owned(), "localhost".to_owned())],
            body_file: &|_| unreachable!("no line names a file"),
        };
        let mix = Arc::new(Mix::read(&source).unwrap());
        let pool = mix::Pool { seed: 1, target: 0, connections_before: 0, is_tls: false };
        Box::new(Mixed::new(&mix, pool, || 0))
    });
}

/// Returns a maker of scripts whose requests are made one at a time.
fn scripts() -> impl Fn() -> Script {
    let file = tempfile::NamedTempFile::new().unwrap();
    let text = "local n = 0\nfunction request()\n  n = n + 1\n  \
                return wrk.format('GET', '/' .. n % 1000)\nend\n";
    std::fs::write(file.path(), text).unwrap();
    let program = Program::load(file.path(), Vec::new()).unwrap();
    let target = script::Target {
        url: "http://localhost/".to_owned(),
        scheme: "http".to_owned(),
        host: "localhost".to_owned(),
        port: None,
        path: "/".to_owned(),
    };
    move || Script::new(&program, &target, &Defaults::default(), 1).unwrap()
}

#[test]
fn a_script_allocates_nothing_of_ours() {
    let script = scripts();
    check(|| Box::new(script()));
}

/// Covers requests that are prepared ahead: a busy shard may do so only after the warm-up.
#[test]
fn after_its_first_request_a_script_looks_ahead_without_allocating() {
    let mut script = scripts()();
    assert!(script.prepare().unwrap());
    let before = OURS.get();
    for _ in 0..1_000 {
        script.prepare().unwrap();
    }
    assert_eq!(OURS.get() - before, 0);
}

/// The bytes that the process allocates while connections are open, beyond those before.
#[derive(Default)]
struct Holding {
    connections: u64,
    before: i64,
    /// The bytes once all are open, and once each has served a request.
    opened: i64,
    served: i64,
    completed: u64,
}

impl Observer for Holding {
    fn begin(&mut self, _start: Instant, _window: Window) {
        self.opened = HELD.load(Ordering::Relaxed) - self.before;
    }

    fn completed(&mut self, completion: &Completion) {
        assert_eq!(completion.outcome, load::Outcome::Ok);
        self.completed += 1;
        if self.completed == self.connections {
            self.served = HELD.load(Ordering::Relaxed) - self.before;
        }
    }
}

fn holding(server: &Server, connections: usize) -> [i64; 2] {
    let plan = plan(server, closed(), connections);
    let limits = Limits { open_gap: Nanos::ZERO, ..plan.limits };
    let requests = Some(connections as u64);
    let plan = Plan { limits, requests, warm_up: Nanos::ZERO, ..plan };
    let before = HELD.load(Ordering::Relaxed);
    let watch = Holding { connections: connections as u64, before, ..Holding::default() };
    let rules = Checks::parse("body~x header:Content-Type=text/plain").unwrap();
    let workload: Workload = Box::new(Checked::new(fixed(), Arc::new(rules)));
    let drivers = vec![Http1::new(connections, workload)];
    let measured = measure(&plan, drivers, vec![watch], None, &AtomicBool::new(false)).unwrap();
    assert_eq!(measured.measurement.connections_reached, connections as u64);
    let Holding { opened, served, .. } = measured.watchers[0];
    assert!(0 < opened && 0 < served, "{opened} {served}");
    [opened, served]
}

#[test]
fn an_idle_connection_takes_at_most_half_a_kibibyte() {
    let _alone = alone();
    assert!(process::raise_open_files() >= 8_200, "8,000 connections need as many files");
    let server = Server::start();
    let (few, many) = (2_000, 8_000);
    let (of_few, of_many) = (holding(&server, few), holding(&server, many));
    for (of_few, of_many) in of_few.into_iter().zip(of_many) {
        let each = (of_many - of_few) as f64 / (many - few) as f64;
        assert!(each <= 512.0, "{each} bytes");
    }
}
