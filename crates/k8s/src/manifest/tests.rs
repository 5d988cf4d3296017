use super::*;
use crate::objects::tests::{geo, run};

const SERVERS: &str = "../../deploy/kv/servers.yaml";

fn servers() -> Vec<Value> {
    let service = Service { name: "servers".to_owned(), replicas: 3, ..geo() };
    objects(&run(), &service, Path::new(SERVERS), &["w2".to_owned()], 7).unwrap()
}

#[test]
fn the_servers_of_the_file_are_those_of_the_run() {
    let [service, set] = servers().try_into().unwrap();
    let run = run();
    let labels = json!({RUN: run.id, SERVICE: "servers"});
    for (name, value) in labels.as_object().unwrap() {
        for place in [
            &service["metadata"]["labels"],
            &service["spec"]["selector"],
            &set["spec"]["selector"]["matchLabels"],
            &set["spec"]["template"]["metadata"]["labels"],
        ] {
            assert_eq!(&place[name], value, "{place}");
        }
    }
    assert_eq!(service["metadata"]["namespace"], json!(run.namespace));
    let pod = &set["spec"]["template"]["spec"];
    assert_eq!(pod["containers"][0]["image"], json!(run.image));
    assert!(pod["affinity"].to_string().contains("w2"), "{pod}");
    assert_eq!(set["spec"]["replicas"], 3);
    // What the file says stays.
    assert_eq!(set["spec"]["selector"]["matchLabels"]["app"], "servers");
    assert_eq!(pod["terminationGracePeriodSeconds"], 300);
    let probe = &pod["containers"][0]["readinessProbe"];
    assert_eq!(probe["exec"]["command"], json!(["/benchwright", "kv", "stats", "127.0.0.1"]));
}

#[test]
fn each_start_has_volumes_of_its_own() {
    let [_, set] = servers().try_into().unwrap();
    let spec = &set["spec"];
    assert_eq!(spec["volumeClaimTemplates"][0]["metadata"]["name"], "data-7");
    let mounts = &spec["template"]["spec"]["containers"][0]["volumeMounts"];
    assert_eq!((&mounts[0]["name"], &mounts[1]["name"]), (&json!("data-7"), &json!("tmp")));
    assert_eq!(spec["persistentVolumeClaimRetentionPolicy"]["whenDeleted"], "Delete");
}

#[test]
fn what_a_run_cannot_make_is_refused() {
    let why = |text: &str| {
        let checked = objects_in(text).and_then(|objects| check(&objects, "kv"));
        format!("{:#}", checked.unwrap_err())
    };
    let set = |name: &str| {
        let spec = "spec: {template: {spec: {containers: [{name: a}]}}}";
        format!("kind: StatefulSet\nmetadata: {{name: {name}}}\n{spec}\n")
    };
    assert!(why(&set("other")).contains("it needs one StatefulSet `kv`"));
    let two = format!("{}---\n{}", set("kv"), set("kv"));
    assert!(why(&two).contains("it needs one StatefulSet `kv`"));
    let more = format!("{}---\n{}", set("kv"), set("b").replace("StatefulSet", "Secret"));
    assert!(why(&more).contains("it has a Secret; a run makes only a StatefulSet and Services"));
    for text in ["5", "kind: Service", &set("kv").replace("[{name: a}]", "[5]")] {
        assert!(why(text).contains("it has an object without `metadata`, `spec` or containers"));
    }
    assert!(why("{").contains("it is not YAML of objects"));
}

#[test]
fn the_pod_of_a_job_has_the_variables_that_are_given() {
    let given = [("SERVERS", "10.0.0.1:7720"), ("KEYS", "1000")];
    let given = given.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    let pod = job(&run(), "program-1", Path::new("../../deploy/kv/load.yaml"), &given).unwrap();
    assert_eq!((&pod["kind"], &pod["metadata"]["name"]), (&json!("Pod"), &json!("program-1")));
    assert_eq!(pod["metadata"]["labels"][RUN], json!(run().id));
    let container = &pod["spec"]["containers"][0];
    assert_eq!(container["image"], json!(run().image));
    // In place of the Secret that the Job of the guide reads.
    let variables = json!([
        {"name": "KEYS", "value": "1000"},
        {"name": "SERVERS", "value": "10.0.0.1:7720"},
    ]);
    assert_eq!(container["env"], variables);
    assert!(container["args"].to_string().contains("--servers=$(SERVERS)"), "{container}");
    let refused = job(&run(), "program-1", Path::new(SERVERS), &given).unwrap_err();
    assert!(refused.to_string().contains("it has 2 objects and needs one, a Job"), "{refused}");
}

#[test]
fn a_file_without_an_end_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (pipe, long) = (folder.path().join("pipe.yaml"), folder.path().join("long.yaml"));
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    std::fs::File::create(&long).unwrap().set_len(MOST_BYTES + 1).unwrap();
    for (path, why) in [
        (pipe.as_path(), "it is a pipe, and an experiment reads it more than once"),
        (Path::new("/dev/zero"), "it is longer than 1 MiB"),
        (long.as_path(), "it is longer than 1 MiB"),
    ] {
        let expected = format!("{}: {why}", path.display());
        assert_eq!(format!("{:#}", read(path, "servers").unwrap_err()), expected);
        assert_eq!(format!("{:#}", read_job(path).unwrap_err()), expected);
    }
}
