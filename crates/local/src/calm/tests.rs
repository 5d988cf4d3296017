use std::sync::atomic::AtomicBool;

use super::*;

fn roles(cpu: u32) -> Roles {
    Roles::from([("load", Cpus(vec![cpu])), ("sut", Cpus(Vec::new()))])
}

fn host() -> Host {
    Host::new("/bin/true".into(), "0")
}

fn a_cpu() -> u32 {
    allowed_here().0[0]
}

/// On any machine, a neighbour of equal priority never leaves a CPU free for two seconds.
#[test]
fn a_cpu_with_a_busy_neighbour_is_not_calm() {
    let cpu = a_cpu();
    let over = AtomicBool::new(false);
    let calm = thread::scope(|scope| {
        defer! { over.store(true, Ordering::Relaxed) }
        for _ in 0..2 {
            scope.spawn(|| {
                process::pin(&Cpus(vec![cpu])).unwrap();
                while !over.load(Ordering::Relaxed) {
                    std::hint::black_box(0);
                }
            });
        }
        wait(&roles(cpu), &host(), Nanos::from_secs(4)).unwrap()
    });
    assert!(!calm.is_calm && Nanos::from_secs(4) <= calm.waited, "{calm}");
    let worst = calm.worst.unwrap();
    assert_eq!(worst.cpu, cpu);
    assert!(Some(0.2) < worst.gaps, "{calm}");
}

#[test]
fn an_interrupt_ends_the_wait() {
    let host = host();
    host.interrupted.store(true, Ordering::Relaxed);
    let begun = host::now();
    let stop = wait(&roles(a_cpu()), &host, Nanos::from_secs(60)).unwrap_err();
    assert!(matches!(stop, Stop::Interrupted));
    assert!(host::now() - begun < Nanos::from_secs(10));
}

#[test]
fn a_cpu_that_is_not_there_cannot_be_watched() {
    let Stop::NoAnswer(why) = wait(&roles(1_000), &host(), Nanos::from_secs(60)).unwrap_err()
    else {
        panic!("another stop");
    };
    assert!(why.to_string().starts_with("cannot watch CPU 1000: "), "{why}");
}

#[test]
fn all_roles_are_watched_each_cpu_once() {
    let mut roles = roles(1);
    roles.insert("sut", Cpus(vec![0, 1]));
    let shared = |cpu| Watched { cpu, runs_system: true };
    assert_eq!(watched(&roles), [shared(0), shared(1)]);
    roles.insert("sut", Cpus(vec![0]));
    assert_eq!(watched(&roles), [shared(0), Watched { cpu: 1, runs_system: false }]);
    roles.clear();
    let here: Vec<Watched> = allowed_here().0.into_iter().map(shared).collect();
    assert_eq!(watched(&roles), here);
}

#[test]
fn steal_is_read_of_the_cpu_asked() {
    let stat = "cpu  9 9 9 9 9 9 9 9 9 9\ncpu1 1 2 3 4 5 6 7 8 9 10\ncpu11 0 0 0 0 0 0 0 77 0 0\n";
    assert_eq!(stolen_ticks(stat, 1), Some(8));
    assert_eq!(stolen_ticks(stat, 11), Some(77));
    assert_eq!(stolen_ticks(stat, 2), None);
    steal_of(a_cpu()).unwrap();
}
