use std::path::Path;
use std::process::Command;
use std::time::Duration;

use lab::backend::Limits;
use lab::host::rest;
use lab::spec::Literal;
use nix::sys::signal::Signal;

use super::super::confine;
use super::super::process::Process;
use super::*;
use crate::cpus::allowed_here;

fn cpus(list: &str) -> Cpus {
    Cpus::read(list).unwrap()
}

fn named(roles: &[(&'static str, &str)], has_components: bool) -> Vec<(String, Vec<u32>)> {
    let roles = roles.iter().map(|(name, list)| (*name, cpus(list))).collect();
    let shares = shares(&roles, has_components).into_iter();
    shares.map(|(name, share)| (name, share.cpus)).collect()
}

#[test]
fn a_role_is_watched_on_the_cpus_that_it_has_for_itself() {
    let role = |name: &str, cpus: &[u32]| (name.to_owned(), cpus.to_vec());
    let apart = [("load", "0"), ("sut", "1-2")];
    assert_eq!(named(&apart, true), [role("load", &[0]), role("sut", &[1, 2])]);
    // A system elsewhere has no processes of ours.
    assert_eq!(named(&[("load", "0")], false), [role("load", &[0])]);
    for (roles, has_components) in [
        (&[("load", "0-1"), ("sut", "1-2")][..], true),
        (&[("load", "0")], true),
        (&[("sut", "0")], true),
        (&[], false),
    ] {
        assert_eq!(named(roles, has_components), [role(TOGETHER, &[])], "{roles:?}");
    }
}

#[test]
fn pressure_is_the_time_in_which_something_waited() {
    let text = "some avg10=1.53 avg60=0.87 avg300=0.73 total=45678\n\
                full avg10=0.00 avg60=0.00 avg300=0.00 total=9\n";
    assert_eq!(waited(text), Some(Nanos::from_micros(45_678)));
    assert_eq!(waited(""), None);
    assert_eq!(waited("some avg10=1.53\n"), None);
}

/// A busy process on one CPU, in a group of its own; both are removed with it.
struct Busy {
    group: Group,
    child: Option<Process>,
}

impl Busy {
    fn start(confinement: &confine::Confinement, name: &str, cpus: &Cpus) -> Busy {
        let group = confinement.group(name, Some(cpus), Limits::default()).unwrap();
        let mut command = Command::new("sh");
        command.args(["-c", "while :; do :; done"]);
        let child = group.spawn(command, Some(cpus)).unwrap();
        Busy { group, child: Some(child) }
    }

    fn used(&self) -> u64 {
        self.group.usage_ns(self.child.as_ref().unwrap().id()).unwrap()
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.group.remove();
        if let Some(child) = self.child.take() {
            child.signal(Signal::SIGKILL);
            child.reap();
        }
    }
}

#[test]
fn a_cpu_is_busy_for_the_generator_and_for_a_stranger() {
    let cpu = cpus(&allowed_here().0[0].to_string());
    let name = format!("benchwright-test-machine-{}", std::process::id());
    let confinement =
        confine::Confinement::find(Path::new("/sys/fs/cgroup"), &confine::own(), &name);
    let generator = Busy::start(&confinement, "generator", &cpu);
    let stranger = Busy::start(&confinement, "stranger", &cpu);
    let mut reader = Reader::new(shares(&[("load", cpu.clone())].into(), false));
    reader.begin(host::now(), generator.group.clone(), generator.child.as_ref().unwrap().id());
    let (begun, before) = (host::now(), stranger.used());
    reader.look();
    rest(Duration::from_secs(2));
    reader.look();
    let length = (host::now() - begun).as_secs_f64();
    let of_stranger = (stranger.used() - before) as f64 / 1e9 / length;
    let machine = reader.end();
    let busy = &machine.cpus[&cpu.0[0]].busy;
    let busy = (busy[1].1 - busy[0].1) as f64 / 1e9 / length;
    let own = &machine.roles["load"].own[0];
    let own = (own[2].1 - own[1].1) as f64 / 1e9 / length;
    drop((generator, stranger));
    confinement.remove();
    assert!(0.05 < own && 0.05 < of_stranger, "{own} {of_stranger}");
    // The rest is that of other tests.
    assert!((own + of_stranger - 0.1..1.1).contains(&busy), "{busy}: {own} and {of_stranger}");
}

/// Prints the cost of a look, with `--nocapture`: it is made once a second.
#[test]
#[expect(clippy::print_stderr, reason = "the figure is for those who ask for it")]
fn a_look_takes_less_than_a_thousandth_of_a_cpu() {
    let mut reader = Reader::new(shares(&BTreeMap::new(), false));
    let cpu = || {
        let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
        stat.split_whitespace().next().unwrap().parse::<f64>().unwrap() / 1e6
    };
    let cost = || {
        let before = cpu();
        (0..50).for_each(|_| reader.look());
        (cpu() - before) / 50.0
    };
    // The kernel counts the time of interrupts too.
    let least = std::iter::repeat_with(cost).take(5).fold(f64::INFINITY, f64::min);
    eprintln!("{least:.3} ms a second: {:.3} % of a CPU", least / 10.0);
    assert!(least < 1.0, "{least} ms a second");
}
