use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::time::Duration;

use lab::host::rest;
use nix::sys::signal::Signal;

use super::super::confine;
use super::super::process::Process;
use super::*;

/// A group of this run, removed with it.
struct Stage {
    confinement: confine::Confinement,
    sources: Vec<Source>,
    children: Vec<Process>,
}

impl Stage {
    fn new(name: &str) -> Stage {
        let name = format!("benchwright-test-{name}-{}", std::process::id());
        let root = Path::new("/sys/fs/cgroup");
        let confinement = confine::Confinement::find(root, &confine::own(), &name);
        Stage { confinement, sources: Vec::new(), children: Vec::new() }
    }

    fn start(&mut self, name: &str, script: &str, cpu_limit: Option<f64>) {
        let limits = lab::backend::Limits { cpu: cpu_limit, memory: None };
        let group = self.confinement.group(name, None, limits).unwrap();
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        let child = group.spawn(command, None).unwrap();
        self.sources.push(Source {
            name: name.to_owned(),
            step: name.split("-").next().unwrap().to_owned(),
            role: "sut",
            of_role: 2.0,
            cpu_limit,
            pid: child.id(),
            group,
            port: None,
            statistics: None,
        });
        self.children.push(child);
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        self.sources.iter().for_each(|source| source.group.remove());
        for child in self.children.drain(..) {
            child.signal(Signal::SIGKILL);
            child.reap();
        }
        self.confinement.remove();
    }
}

const BUSY: &str = "while :; do :; done";

fn last(samples: &[(Instant, u64)]) -> u64 {
    samples.last().map_or(0, |sample| sample.1)
}

#[test]
fn the_reported_figures_match_the_kernels_counters() {
    let mut stage = Stage::new("counters");
    // So low a limit that the component reaches it even on a CPU that many share.
    stage.start("busy-1.2", BUSY, Some(0.1));
    stage.start("idle", "exec sleep 60", None);
    let source = &stage.sources[0];
    let kernel = || source.group.usage_ns(source.pid).unwrap();
    let (begun, before) = (host::now(), kernel());
    let watching = Watching::begin(stage.sources.clone(), BTreeMap::new());
    rest(Duration::from_millis(1_500));
    let (consumed, _) = watching.end();
    let (length, kernel) = ((host::now() - begun).0, kernel() - before);

    let busy = &consumed["busy-1.2"];
    assert_eq!((busy.step.as_str(), busy.role.as_str()), ("busy", "sut"));
    assert!(busy.open_files_limit.is_some_and(|files| 0 < files));
    let reported = last(&busy.cpu) - busy.cpu[0].1;
    let apart = reported.abs_diff(kernel) as f64 / length as f64;
    assert!(apart < 0.03, "{reported} ns reported, {kernel} ns by the kernel");
    let thread = busy.threads.values().next().unwrap();
    let of_thread = last(&thread.cpu) - thread.cpu[0].1;
    assert!(of_thread.abs_diff(reported) as f64 / (length as f64) < 0.03, "{of_thread} {reported}");
    assert!(0 < last(&busy.memory) && 0 < last(&consumed["idle"].memory));
    assert_eq!(consumed["idle"].quotas, []);
    if stage.confinement.can_limit() {
        let [quota] = &busy.quotas[..] else { panic!("{:?}", busy.quotas) };
        let growth = |samples: &[(Instant, u64)]| last(samples) - samples[0].1;
        assert!(0 < growth(&quota.stopped) && growth(&quota.stopped) <= growth(&quota.periods));
        let throttled = growth(&quota.time);
        assert!((0.1..2.0).contains(&(throttled as f64 / length as f64)), "{throttled}");
    }
}

/// Prints the cost of watching, with `--nocapture`. The bound is far above it: other tests run
/// beside this one.
#[test]
#[expect(clippy::print_stderr, reason = "the figure is for those who ask for it")]
fn watching_34_processes_and_2000_sockets_costs_little() {
    let mut stage = Stage::new("cost");
    for number in 0..34 {
        stage.start(&format!("service-1.{number}"), "exec sleep 60", None);
    }
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    stage.sources.iter_mut().for_each(|source| source.port = Some(port));
    let sockets: Vec<(TcpStream, TcpStream)> = (0..1_000)
        .map(|_| (TcpStream::connect(("127.0.0.1", port)).unwrap(), listener.accept().unwrap().0))
        .collect();
    let mut watch = Watch::of(stage.sources.clone(), BTreeMap::new());
    watch.look();
    let cpu = || {
        let stat = fs::read_to_string("/proc/thread-self/schedstat").unwrap();
        stat.split_whitespace().next().unwrap().parse::<f64>().unwrap() / 1e6
    };
    let cost = |looks: u32, look: &mut dyn FnMut()| {
        let before = cpu();
        (0..looks).for_each(|_| look());
        (cpu() - before) / f64::from(looks)
    };
    let often = cost(80, &mut || {
        watch.next = Instant::NEVER;
        watch.look();
    });
    let closely = cost(10, &mut || watch.look_closely());
    let tables = cost(10, &mut || watch.sockets.look(std::iter::once(port)));
    let a_second = 8.0 * often + closely;
    eprintln!(
        "CPU time {often:.2} ms, eight times a second; all else {closely:.2} ms, of it the sockets \
         {tables:.2} ms: {:.2} % of a CPU",
        a_second / 10.0
    );
    assert_eq!(watch.sockets.of(port).unwrap().established, sockets.len() as u64);
    assert!(a_second < 100.0, "{a_second} ms a second");
}

#[test]
fn lines_of_the_kernel_are_found_by_their_whole_name() {
    let stat = "nr_periods 7\nnr_throttled 3\nthrottled_time 9\n";
    assert_eq!(field(stat, "nr_throttled"), Some(3));
    assert_eq!(field(stat, "throttled"), None);
    let limits = "Limit  Soft\nMax open files            1024                 4096       files\n";
    assert_eq!(open_files(limits), Some(1_024));
    assert_eq!(open_files("Max open files            unlimited  unlimited files"), None);
}
