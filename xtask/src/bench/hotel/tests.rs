use super::*;
use crate::bench::machine;

#[test]
fn ticks_are_after_the_name_of_the_process() {
    let stat = "7 (a) b (c) S 1 7 7 0 -1 0 9 0 0 0 123 45 6 7 20 0 1 0";
    let [user, kernel, ..] = machine::ticks(stat).unwrap();
    assert_eq!([user, kernel], [Nanos::from_millis(1230), Nanos::from_millis(450)]);
    assert_eq!(machine::ticks("7 (a) S 1"), None);
}

#[test]
fn shares_of_ticks_divide_the_exact_time() {
    assert_eq!(row("geo", 9.0, 2.0, 1.0), "geo                9.0 µs  (user 6.0, kernel 3.0)");
    assert_eq!(row("geo", 0.0, 0.0, 0.0), "geo                0.0 µs  (user 0.0, kernel 0.0)");
}

#[test]
fn a_deployment_names_the_places_of_its_data() {
    let [embedded, .., both] = DEPLOYMENTS.map(|deployed| deployed.to_string());
    assert_eq!(
        embedded,
        "instances 1 × replicas 1, all on one CPU; rates and profiles in the services' memory; \
         store a process per instance; a booking survives kill -9 but not a power failure"
    );
    assert_eq!(
        both,
        "instances 2 × replicas 2, all on one CPU; rates and profiles in one memcached; \
         store one PostgreSQL, a database per instance; a booking survives kill -9 but not a power \
         failure"
    );
}

#[test]
fn the_cpu_time_of_a_process_includes_its_children() {
    // The shell waits for the first loop; the second one still runs.
    let script = "i=0; f() { while [ $i -lt 300000 ]; do i=$((i+1)); done; }; (f); \
                  echo; (f) & wait";
    let mut command = std::process::Command::new("sh");
    command.args(["-c", script]).stdout(std::process::Stdio::piped());
    let mut process = machine::Process::start(&mut command).unwrap();
    let _ =
        std::io::BufRead::lines(std::io::BufReader::new(process.0.stdout.take().unwrap())).next();
    let of_ended = Cpu::of(process.0.id()).unwrap().all;
    assert!(Nanos::from_millis(20) < of_ended, "{of_ended}");
    let begun = machine::now();
    while Cpu::of(process.0.id()).unwrap().all < of_ended + of_ended / 2 {
        assert!(machine::since(begun) < Nanos::from_secs(20));
        machine::sleep(Nanos::from_millis(10));
    }
}
