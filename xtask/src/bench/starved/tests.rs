use super::*;
use crate::bench::load::Noise;

#[test]
fn a_late_generator_has_to_refuse_and_to_name_the_gate() {
    let refusing = load(3, &["late"], 40);
    assert_eq!(starved(2_000, refusing.clone()), Starved::Refused);
    assert_eq!(starved(2_000, load(0, &[], 0)), Starved::Missed);
    assert_eq!(starved(2_000, Load { exit: Some(1), ..refusing.clone() }), Starved::Missed);
    assert_eq!(starved(2_000, Load { gates: Vec::new(), ..refusing.clone() }), Starved::Missed);
    assert_eq!(starved(2_000, Load { reasons: Vec::new(), ..refusing }), Starved::Missed);
}

#[test]
fn a_generator_that_was_not_late_by_the_servers_log_may_accept_or_refuse() {
    assert_eq!(starved(1_000, load(0, &[], 0)), Starved::Punctual);
    assert_eq!(starved(1_001, load(0, &[], 0)), Starved::Missed);
}

#[test]
fn a_refusal_is_explained_by_a_pause_as_long_as_the_lateness() {
    assert_eq!(judge_undisturbed(&load(0, &[], 90)), Undisturbed::Accepted);
    assert_eq!(judge_undisturbed(&load(3, &["late"], 500)), Undisturbed::Explained);
    assert_eq!(judge_undisturbed(&load(3, &["late"], 501)), Undisturbed::Unexplained);
    assert_eq!(judge_undisturbed(&load(3, &["disturbed"], 501)), Undisturbed::Explained);
    let mut shared = load(3, &["late"], 501);
    shared.noise.others_share = 0.05;
    assert_eq!(judge_undisturbed(&shared), Undisturbed::Shared);
    shared.noise.others_share = 0.01;
    assert_eq!(judge_undisturbed(&shared), Undisturbed::Shared);
    shared.noise.others_share = 0.009;
    assert_eq!(judge_undisturbed(&shared), Undisturbed::Unexplained);
    let both = ["disturbed", "lost"];
    assert_eq!(judge_undisturbed(&load(3, &both, 0)), Undisturbed::Unexplained);
}

#[test]
fn the_group_of_a_quota_is_in_our_own_group() {
    let own = "9:name=systemd:/\n2:cpu,cpuacct:/user/7\n0::/\n";
    assert_eq!(
        version_1(own),
        Some(PathBuf::from("/sys/fs/cgroup/cpu,cpuacct/user/7/benchwright-bench"))
    );
    assert_eq!(version_1("3:cpuset:/\n0::/\n"), None);
    assert_eq!(version_2("3:cpuset:/\n"), None);
}

fn starved(late_us: u64, load: Load) -> Starved {
    judge_starved(&Trial { load, late_p99: Nanos::from_micros(late_us) })
}

/// Returns a load on a machine that paused for at most 500 µs.
fn load(exit: i32, gates: &[&str], lateness_us: u64) -> Load {
    Load {
        exit: Some(exit),
        intended: 100,
        completed: 100,
        completed_per_s: 100.0,
        response: [Nanos::from_millis(1); 3],
        lateness_p99: Nanos::from_micros(lateness_us),
        gates: gates.iter().map(|gate| (*gate).to_owned()).collect(),
        reasons: gates.iter().map(|gate| format!("{gate}: a sentence")).collect(),
        noise: Noise {
            hiccup_p99: Nanos::from_micros(100),
            hiccup_max: Nanos::from_micros(500),
            steal_share: Some(0.0),
            others_share: 0.0,
        },
    }
}
