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
fn cpu_time_is_after_a_name_that_may_contain_anything() {
    let stat = "7 (a ) (b) S 1 7 7 0 -1 4194304 100 200 0 0 5 6 70 80 20 0 1 0 300 1000 20";
    let (own, children) = (Nanos::from_millis(110), Nanos::from_millis(1500));
    assert_eq!(Cpu::read(stat), Some(Cpu { own, children }));
    assert_eq!(Cpu::read("7 (short) S 1"), None);
}

#[test]
fn our_own_cpu_time_is_not_that_of_others() {
    let others = Others::watch();
    let all = cpu_of_all();
    assert!(own_cpu().sum() <= all, "we are one of all");
    assert!(0.0 <= others.share());
}
