use lab::backend::Quantiles;

use super::*;

#[test]
fn the_progress_of_several_generators_is_one_line() {
    let tick = |elapsed_s: f64, completed: f64, p99_ns: u64| Tick {
        phase: "measurement".to_owned(),
        elapsed_s,
        asked_per_s: Some(100.0),
        completed_per_s: Some(completed),
        last: Quantiles { p99_ns: Some(p99_ns), ..Quantiles::default() },
        in_flight: Some(3),
        failed: 1,
        errors: BTreeMap::from([("timeout".to_owned(), 1)]),
        ..Tick::default()
    };
    let all = together([tick(1.0, 90.0, 5), tick(2.0, 80.0, 7)].iter());
    let errors = BTreeMap::from([("timeout".to_owned(), 2)]);
    let (asked_per_s, in_flight, failed) = (Some(200.0), Some(6), 2);
    let expected = Tick { asked_per_s, in_flight, failed, errors, ..tick(2.0, 170.0, 7) };
    assert_eq!(all, expected);
}

#[test]
fn files_of_the_load_have_other_names_in_a_pod() {
    let arguments = ["load", "--script", "experiments/mix.lua", "--rate", "5/s"].map(str::to_owned);
    let files = BTreeMap::from([("experiments/mix.lua".to_owned(), "text".to_owned())]);
    let (replaced, used) = with_files(&arguments, &files);
    assert_eq!(replaced, ["load", "--script", "/load/mix.lua", "--rate", "5/s"]);
    assert_eq!(used, [("mix.lua".to_owned(), "text".to_owned())]);
}

#[test]
fn files_of_two_folders_may_have_one_name() {
    let file = |path: &str, content: &str| (path.to_owned(), content.to_owned());
    let files = BTreeMap::from([
        file("a/post.lua", "one"),
        file("b/post.lua", "two"),
        file("b/my body", "three"),
    ]);
    let words = ["load", "--script", "a/post.lua", "--trace", "b/post.lua", "--body", "b/my body"];
    let words = words.map(str::to_owned);
    let (arguments, used) = with_files(&[&words[..], &words[1..3]].concat(), &files);
    let expected = [
        "load",
        "--script",
        "/load/post.lua",
        "--trace",
        "/load/2-post.lua",
        "--body",
        "/load/my_body",
        "--script",
        "/load/post.lua",
    ];
    assert_eq!(arguments, expected);
    let expected = [file("post.lua", "one"), file("2-post.lua", "two"), file("my_body", "three")];
    assert_eq!(used, expected);
}

#[test]
fn the_start_is_as_far_ahead_as_the_way_to_the_generators_is_long() {
    let ms = Nanos::from_millis;
    assert_eq!(
        [ms(0), ms(5), ms(200), ms(5_000)].map(ahead),
        [ms(100), ms(120), ms(900), ms(2_000)]
    );
}

#[test]
fn events_are_received_where_other_pods_reach_it() {
    let resolved = |receive: &str| {
        let text = format!(
            "name: c\nsut: {{deploy: [app: {{name: channel, run: channel}}]}}\n\
             workload: {{path: /, events: {{receive: '{receive}'}}}}\n\
             load: {{model: open, rate: 1/s}}\n\
             where: {{backend: kubernetes, cluster: {{image: i}}}}\n"
        );
        spec::from_bytes("c.yaml", text.as_bytes(), Path::new("."), None, &[]).unwrap()
    };
    assert_eq!(receiver(&resolved("0.0.0.0:18080")).unwrap(), Some(18_080));
    let why = receiver(&resolved("127.0.0.1:18080")).unwrap_err().to_string();
    assert!(why.contains("0.0.0.0:18080") && why.contains("benchwright-receiver."), "{why}");
    assert!(receiver(&resolved("0.0.0.0")).unwrap_err().to_string().contains("has no port"));
}
