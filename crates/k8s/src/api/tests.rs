//! The API by script: a service in place of the connection.

use std::collections::VecDeque;
use std::sync::Mutex;

use http::Response;
use kube::client::Body;
use serde_json::json;

use super::*;

/// The calls that were made, and the answers that are still to be given.
#[derive(Default)]
struct Script {
    asked: Vec<String>,
    answers: VecDeque<(u16, Value)>,
}

fn api(answers: &[(u16, Value)]) -> (Api, Arc<Mutex<Script>>) {
    let script = Script { asked: Vec::new(), answers: answers.iter().cloned().collect() };
    let script = Arc::new(Mutex::new(script));
    let shared = Arc::clone(&script);
    let service = tower::service_fn(move |request: Request<Body>| {
        let script = Arc::clone(&shared);
        async move {
            let mut script = script.lock().unwrap();
            script.asked.push(format!("{} {}", request.method(), request.uri()));
            match script.answers.pop_front() {
                Some((status, body)) => {
                    let body = Body::from(body.to_string().into_bytes());
                    Ok(Response::builder().status(status).body(body).unwrap())
                }
                None => Err(std::io::Error::other("the cable was pulled")),
            }
        }
    });
    let client = async { Ok(Client::new(service, "default")) };
    let mut api = Api::with(Arc::default(), client).unwrap();
    api.patience = Duration::from_millis(300);
    (api, script)
}

fn refusal(status: u16, reason: &str) -> (u16, Value) {
    (
        status,
        json!({
            "kind": "Status", "apiVersion": "v1", "status": "Failure", "code": status,
            "reason": reason, "message": format!("it is {reason}"),
        }),
    )
}

fn pod() -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "demo"},
    })
}

#[test]
fn a_server_that_is_away_for_a_moment_is_asked_again() {
    let busy = refusal(503, "ServiceUnavailable");
    let (api, script) = api(&[busy.clone(), busy, (200, pod())]);
    assert_eq!(api.get("/api/v1/namespaces/demo/pods/p").unwrap(), Some(pod()));
    assert_eq!(script.lock().unwrap().asked, ["GET /api/v1/namespaces/demo/pods/p"; 3]);
    assert_eq!(api.calls(), 3);
}

#[test]
fn a_server_that_stays_away_is_given_up_with_the_reason() {
    let (api, script) = api(&[]);
    let error = api.get("/version").unwrap_err();
    assert!(matches!(&error, Error::Unreachable(why) if why.contains("the cable was pulled")));
    assert!(2 < script.lock().unwrap().asked.len(), "it was tried several times");
    api.interrupted.store(true, Ordering::Relaxed);
    assert_eq!(api.get("/version"), Err(Error::Interrupted));
}

#[test]
fn a_refusal_is_final_and_says_why() {
    let (api, script) = api(&[refusal(403, "Forbidden"), refusal(404, "NotFound")]);
    let error = api.list(&all("Pod", None), "a=b,c").unwrap_err();
    assert_eq!(error.to_string(), "the cluster refuses it (403 Forbidden): it is Forbidden");
    assert_eq!(api.get(&one("Pod", "demo", "p")).unwrap(), None);
    let asked = &script.lock().unwrap().asked;
    assert_eq!(asked[0], "GET /api/v1/pods?labelSelector=a%3Db%2Cc");
}

#[test]
fn objects_are_applied_with_our_name_and_deleted_with_what_they_own() {
    let deployed = json!({
        "apiVersion": "apps/v1", "kind": "StatefulSet",
        "metadata": {"name": "geo", "namespace": "demo"},
    });
    let answers = [
        (200, deployed.clone()),
        (200, json!({})),
        refusal(404, "NotFound"),
        refusal(409, "Conflict"),
    ];
    let (api, script) = api(&answers);
    api.apply(&deployed).unwrap();
    assert!(api.delete(&one("Namespace", "", "demo")).unwrap());
    assert!(!api.delete(&one("Pod", "demo", "p")).unwrap());
    assert!(api.create(&pod()).is_err());
    assert_eq!(
        script.lock().unwrap().asked,
        [
            "PATCH /apis/apps/v1/namespaces/demo/statefulsets/geo?fieldManager=benchwright&force=true",
            "DELETE /api/v1/namespaces/demo?propagationPolicy=Background",
            "DELETE /api/v1/namespaces/demo/pods/p?propagationPolicy=Background",
            "POST /api/v1/namespaces/demo/pods?fieldManager=benchwright",
        ]
    );
}

#[test]
fn a_refusal_of_the_server_is_told_from_the_answer_of_a_pod() {
    let (_, body) = refusal(503, "ServiceUnavailable");
    let why = is_refusal(503, &body.to_string());
    assert_eq!(why.as_deref(), Some("it is ServiceUnavailable"));
    assert_eq!(is_refusal(503, "no room"), None);
    assert_eq!(is_refusal(404, "{\"kind\":\"Status\"}"), None);
    assert_eq!(is_refusal(200, &body.to_string()), None);
}

#[test]
fn pauses_grow_up_to_a_bound() {
    let mut pause = Pause::new(&Call::new(Method::GET, "/"));
    let pauses: Vec<Duration> = (0..12).map(|_| pause.next()).collect();
    assert!(pauses.iter().all(|length| *length <= PAUSES.1));
    assert!(pauses[0] <= PAUSES.0 && PAUSES.1 / 2 <= pauses[11]);
}

#[test]
fn a_kubeconfig_that_cannot_be_read_is_a_wrong_question() {
    let refused = |path: &str| {
        let connected = Api::connect(Some(Path::new(path)), None, Arc::default());
        let Err(Stop::Question(why)) = connected else { panic!("{path}") };
        format!("{why:#}")
    };
    // A folder, and a device that has no end.
    for path in ["/", "/dev/zero"] {
        assert_eq!(
            refused(path),
            format!("{path}: it is not a kubeconfig: not a regular file of at most 16 MiB")
        );
    }
    assert!(refused("/nonexistent").starts_with("connecting to the cluster: "));
}

#[test]
fn a_command_for_credentials_that_waits_is_left_at_an_interruption() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("config");
    let text = "
apiVersion: v1
kind: Config
current-context: c
contexts: [{name: c, context: {cluster: c, user: u}}]
clusters: [{name: c, cluster: {server: 'http://127.0.0.1:1'}}]
users:
  - name: u
    user: {exec: {apiVersion: client.authentication.k8s.io/v1, command: sleep, args: ['5'], interactiveMode: Never}}
";
    std::fs::write(&path, text).unwrap();
    let connected = Api::connect(Some(&path), None, Arc::new(AtomicBool::new(true)));
    assert!(matches!(connected, Err(Stop::Interrupted)));
}
