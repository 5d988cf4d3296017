use super::*;

#[test]
fn cpus_are_read_as_the_kernel_lists_them() {
    let cpus = |list: &str| allowed_cpus(&format!("Name:\txtask\nCpus_allowed_list:\t{list}\n"));
    assert_eq!(cpus("0-1"), [0, 1]);
    assert_eq!(cpus("3"), [3]);
    assert_eq!(cpus("0,2-4,7"), [0, 2, 3, 4, 7]);
    assert_eq!(allowed_cpus(""), [0_u32; 0]);
}

#[test]
fn our_own_cpu_time_is_not_that_of_others() {
    let others = Others::watch();
    let all = cpu_of_all();
    assert!(own_cpu() <= all, "we are one of all");
    assert!(0.0 <= others.share());
}

#[test]
fn ticks_are_after_the_name_of_the_process() {
    let stat = "7 (a) b (c) S 1 7 7 0 -1 0 9 0 0 0 123 45 6 7 20 0 1 0";
    assert_eq!(ticks(stat), Some([1230, 450, 60, 70].map(Nanos::from_millis)));
    assert_eq!(ticks("7 (a) S 1"), None);
}

#[test]
fn the_cpu_time_of_a_process_includes_its_children() {
    // The shell waits for the first loop; the second one still runs.
    let script = "i=0; f() { while [ $i -lt 300000 ]; do i=$((i+1)); done; }; (f); \
                  echo; (f) & wait";
    let mut command = Command::new("sh");
    command.args(["-c", script]).stdout(Stdio::piped());
    let mut process = Process::start(&mut command).unwrap();
    let _ = BufReader::new(process.0.stdout.take().unwrap()).lines().next();
    let of_ended = Cpu::of(process.0.id()).unwrap().all;
    assert!(Nanos::from_millis(20) < of_ended, "{of_ended}");
    let begun = now();
    while Cpu::of(process.0.id()).unwrap().all < of_ended + of_ended / 2 {
        assert!(since(begun) < Nanos::from_secs(20));
        sleep(Nanos::from_millis(10));
    }
}
