use lab::spec::generator::Value;

use super::*;

#[test]
fn files_of_the_load_have_other_names_in_a_pod() {
    let path = "experiments/mix.lua";
    let arguments = Arguments::default()
        .with("--script", Value::File(path.into()))
        // A text that is the same as a path is still a text.
        .with("--body", path.into());
    let files = BTreeMap::from([(path.into(), "text".to_owned())]);
    let (replaced, used) = with_files(&arguments, &files);
    assert_eq!(replaced.to_string(), "load --script /load/mix.lua --body experiments/mix.lua");
    assert_eq!(used, [("mix.lua".to_owned(), "text".to_owned())]);
}

#[test]
fn files_of_two_folders_may_have_one_name() {
    let file = |path: &str, content: &str| (path.to_owned(), content.to_owned());
    let files = ["a/post.lua", "b/post.lua", "b/my body"].map(PathBuf::from);
    let files =
        BTreeMap::from_iter(files.into_iter().zip(["one", "two", "three"].map(str::to_owned)));
    let path = |path: &str| Value::File(path.into());
    let arguments = Arguments::default()
        .with("--script", path("a/post.lua"))
        .with("--trace", path("b/post.lua"))
        .with("--body-file", path("b/my body"))
        .with("--script", path("a/post.lua"));
    let (arguments, used) = with_files(&arguments, &files);
    assert_eq!(
        arguments.to_string(),
        "load --script /load/post.lua --trace /load/2-post.lua --body-file /load/my_body --script /load/post.lua"
    );
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

#[test]
fn the_token_of_a_store_is_given_to_no_pod() {
    let text = "name: kv\nsut: {deploy: [process: {name: kv, command: [benchwright], scheme: kv}]}\n\
                workload: {ycsb: Cargo.toml, properties: {kv.tokenfile: token}}\n\
                load: {model: open, rate: 1/s}\n\
                where: {backend: kubernetes, cluster: {image: i}}\n";
    let resolved = spec::from_bytes("kv.yaml", text.as_bytes(), Path::new("."), None, &[]).unwrap();
    let why = read_files(&resolved).unwrap_err().to_string();
    assert!(why.contains("leave kv.tokenfile out in the profile of the cluster"), "{why}");
}
