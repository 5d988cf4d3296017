use std::fs;
use std::sync::Arc;

use lab::spec::generator::{self, Value};
use results::Secrets;
use serde_json::json;

use super::*;

/// Returns a file that is not a secret.
fn open(text: &str) -> File {
    File { text: text.to_owned(), is_secret: false }
}

#[test]
fn files_of_the_load_have_other_names_in_a_pod() {
    let path = "experiments/mix.lua";
    let arguments = Arguments::default()
        .with("--script", Value::File(path.into()))
        // A text that is the same as a path is still a text.
        .with("--body", path.into());
    let files = Files::from([(path.into(), open("text"))]);
    let (replaced, placed) = with_files(&arguments, &files);
    assert_eq!(replaced.to_string(), "load --script /load/mix.lua --body experiments/mix.lua");
    let files = vec![("mix.lua".to_owned(), "text".to_owned())];
    assert_eq!(placed, Placed { files, secret_files: Vec::new() });
}

#[test]
fn files_of_two_folders_may_have_one_name() {
    let file = |path: &str, content: &str| (path.to_owned(), content.to_owned());
    let files = ["a/post.lua", "b/post.lua", "b/my body"].map(PathBuf::from);
    let files = Files::from_iter(files.into_iter().zip(["one", "two", "three"].map(open)));
    let path = |path: &str| Value::File(path.into());
    let arguments = Arguments::default()
        .with("--script", path("a/post.lua"))
        .with("--trace", path("b/post.lua"))
        .with("--body-file", path("b/my body"))
        .with("--script", path("a/post.lua"));
    let (arguments, placed) = with_files(&arguments, &files);
    assert_eq!(
        arguments.to_string(),
        "load --script /load/post.lua --trace /load/2-post.lua --body-file /load/my_body --script /load/post.lua"
    );
    let expected = [file("post.lua", "one"), file("2-post.lua", "two"), file("my_body", "three")];
    assert_eq!(placed.files, expected);
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

/// Returns a load with these settings of TLS, whose files are in a folder.
fn secured(folder: &Path, tls: &str) -> Resolved {
    let text = format!(
        "name: tls\n\
         sut: {{deploy: [process: {{name: a, command: [benchwright, reference], scheme: https}}]}}\n\
         workload: {{get: /}}\n\
         load: {{model: open, rate: 1/s, tls: {tls}}}\n\
         where: {{backend: kubernetes, cluster: {{image: i}}}}\n"
    );
    spec::from_bytes("tls.yaml", text.as_bytes(), folder, None, &[]).unwrap()
}

/// Returns the ConfigMaps and Jobs of a load, and the Secret of its run.
fn rendered(resolved: &Resolved) -> (Vec<serde_json::Value>, Option<serde_json::Value>) {
    let files = read_files(resolved).unwrap();
    let run = objects::tests::run();
    let (arguments, Placed { files: placed, secret_files: names }) =
        with_files(&generator::check(resolved), &files);
    let generators = Generators {
        name: "load-1".to_owned(),
        nodes: vec!["w1".to_owned()],
        arguments,
        files: placed,
        secret_files: names,
        longest: Nanos::SECOND,
        limits: Limits::default(),
    };
    let of_secret = secret_files(&files).map(|(_, name, text)| (name, text));
    let secret = objects::secrets(&run, &Secrets::default(), of_secret);
    (objects::generators(&run, &generators), secret)
}

#[test]
fn the_key_of_a_client_is_in_the_secret_of_the_run_and_in_no_config_map() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["ca.pem", "client.pem", "client.key"] {
        fs::write(folder.path().join(name), format!("canary of {name}")).unwrap();
    }
    let resolved = secured(folder.path(), "{ca: ca.pem, cert: client.pem, key: client.key}");
    let (objects, secret) = rendered(&resolved);
    let [map, job] = &objects[..] else { panic!("a ConfigMap and a Job") };
    assert_eq!(map["data"], json!({"ca.pem": "canary of ca.pem"}));
    let secret = secret.unwrap();
    assert_eq!(
        secret["stringData"],
        json!({"1-client.key": "canary of client.key", "2-client.pem": "canary of client.pem"})
    );
    let pod = job.pointer("/spec/template/spec").unwrap();
    let command = pod["containers"][0]["command"].to_string();
    let options =
        r#""--ca","/load/ca.pem","--cert","/secrets/2-client.pem","--key","/secrets/1-client.key""#;
    assert!(command.contains(options), "{command}");
    assert_eq!(
        pod["volumes"][2],
        json!({"name": "secrets", "secret": {
            "secretName": secret["metadata"]["name"],
            "items": [
                {"key": "2-client.pem", "path": "2-client.pem"},
                {"key": "1-client.key", "path": "1-client.key"},
            ],
        }})
    );
    let mount = json!({"name": "secrets", "mountPath": "/secrets", "readOnly": true});
    assert_eq!(pod["containers"][0]["volumeMounts"][2], mount);
    // A plan has the objects without the texts of secrets.
    let plan = crate::plan::objects_of(&resolved, &Arc::default()).unwrap();
    assert!(plan.contains("canary of ca.pem") && !plan.contains("canary of client"), "{plan}");
    let shown = without_secrets(read_files(&resolved).unwrap());
    let key = folder.path().join("client.key");
    assert_eq!(shown[&key].text, format!("(the text of {})", key.display()));
}

#[test]
fn a_certificate_with_its_key_is_as_secret_as_a_key() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("both.pem"), "canary").unwrap();
    let (objects, secret) = rendered(&secured(folder.path(), "{cert: both.pem}"));
    assert_eq!(secret.unwrap()["stringData"], json!({"1-both.pem": "canary"}));
    assert!(!json!(objects).to_string().contains("canary"));
    // It stays a secret where another field, or another question, has it as well.
    for tls in ["{ca: both.pem, cert: both.pem}", "{ca: both.pem}"] {
        let mut files = read_files(&secured(folder.path(), "{cert: both.pem}")).unwrap();
        add(&mut files, read_files(&secured(folder.path(), tls)).unwrap());
        assert_eq!(secret_files(&files).count(), 1, "{tls}");
    }
    // Without an identity there is no Secret, and no volume of one.
    let (objects, secret) = rendered(&secured(folder.path(), "{ca: both.pem}"));
    assert_eq!(secret, None);
    assert!(!json!(objects).to_string().contains("/secrets"));
}

/// A spec with such a file is refused; but it may be another one by the time of the load.
#[test]
fn a_file_that_has_become_a_pipe_or_a_device_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ca.pem");
    fs::write(&path, "one").unwrap();
    let resolved = secured(folder.path(), "{ca: ca.pem}");
    let why = || read_files(&resolved).unwrap_err().to_string();
    fs::remove_file(&path).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
    let pipe = "it is a pipe, and an experiment reads it more than once";
    assert_eq!(why(), format!("{}: {pipe}", path.display()));
    fs::remove_file(&path).unwrap();
    std::os::unix::fs::symlink("/dev/zero", &path).unwrap();
    assert_eq!(why(), format!("{}: it is longer than 16 MiB", path.display()));
}
