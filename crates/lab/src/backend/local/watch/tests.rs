use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::time::Duration;

use super::super::output::Output;
use super::super::{confine, in_background, process, rest};
use super::*;

/// A group of this run, removed with it.
struct Stage {
    confinement: confine::Confinement,
    running: Vec<Running>,
}

impl Stage {
    fn new(name: &str) -> Stage {
        let name = format!("benchwright-test-{name}-{}", std::process::id());
        let root = Path::new("/sys/fs/cgroup");
        let confinement = confine::Confinement::find(root, &confine::own(), &name);
        Stage { confinement, running: Vec::new() }
    }

    fn start(&mut self, name: &str, script: &str, cpu_limit: Option<f64>) {
        let group = self.confinement.group(name, None, cpu_limit).unwrap();
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        let child = process::spawn(command, &group, None).unwrap();
        self.running.push(Running {
            name: name.to_owned(),
            child,
            group,
            output: Output::new(None),
            role: "sut",
            of_role: 2.0,
            cpu_limit,
            port: None,
            account: None,
            pumps: vec![in_background(|| ())],
        });
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        super::super::end(&mut self.running);
        self.confinement.remove();
    }
}

const BUSY: &str = "while :; do :; done";

fn last(samples: &[(Instant, u64)]) -> u64 {
    samples.last().map_or(0, |sample| sample.1)
}

#[test]
fn what_is_reported_is_what_the_kernels_accounts_say() {
    let mut stage = Stage::new("accounts");
    stage.start("busy-1.2", BUSY, Some(0.3));
    stage.start("idle", "exec sleep 60", None);
    let mut watch = Watch::begin();
    watch.look(&stage.running);
    let begun = host::now();
    let before = stage.running[0].group.usage_ns(stage.running[0].child.id()).unwrap();
    rest(Duration::from_millis(1_100));
    let after = stage.running[0].group.usage_ns(stage.running[0].child.id()).unwrap();
    let length = (host::now() - begun).0;
    let consumed = watch.end(&stage.running);

    let busy = &consumed["busy-1.2"];
    assert_eq!((busy.step.as_str(), busy.role.as_str()), ("busy", "sut"));
    assert!(busy.open_files_limit.is_some_and(|files| 0 < files));
    let reported = last(&busy.cpu) - busy.cpu[0].1;
    let kernel = after - before;
    let apart = reported.abs_diff(kernel) as f64 / length as f64;
    assert!(apart < 0.02, "{reported} ns reported, {kernel} ns by the kernel");
    let thread = busy.threads.values().next().unwrap();
    let of_thread = last(&thread.cpu) - thread.cpu[0].1;
    assert!(of_thread.abs_diff(reported) as f64 / (length as f64) < 0.02, "{of_thread} {reported}");
    assert!(0 < last(&busy.memory) && 0 < last(&consumed["idle"].memory));
    assert_eq!(consumed["idle"].throttled, []);
    if stage.confinement.can_limit() {
        assert!((0.25..0.36).contains(&(reported as f64 / length as f64)), "{reported}");
        assert!(0 < last(&busy.throttled_periods) - busy.throttled_periods[0].1);
        let throttled = last(&busy.throttled) - busy.throttled[0].1;
        assert!((0.4..1.0).contains(&(throttled as f64 / length as f64)), "{throttled}");
    }
}

/// Shown with `--nocapture`: what watching costs. The bound is far above it: other tests run
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
    stage.running.iter_mut().for_each(|running| running.port = Some(port));
    let sockets: Vec<(TcpStream, TcpStream)> = (0..1_000)
        .map(|_| (TcpStream::connect(("127.0.0.1", port)).unwrap(), listener.accept().unwrap().0))
        .collect();
    let mut watch = Watch::begin();
    watch.look(&stage.running);
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
        watch.look(&stage.running);
    });
    let closely = cost(10, &mut || watch.look_closely(&stage.running));
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
fn a_components_step_is_its_name_without_numbers() {
    let mut stage = Stage::new("names");
    for (name, step) in
        [("store", "store"), ("geo-2", "geo"), ("geo.1", "geo"), ("my-app-1.2", "my-app")]
    {
        stage.start(name, "exit", None);
        assert_eq!(stage.running.last().unwrap().step(), step);
    }
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
