use std::collections::BTreeMap;
use std::iter;

use expect_test::expect;
use lab::backend::Foreign;
use lab::spec::Files;

use super::*;

pub(crate) fn run() -> Run {
    Run {
        id: "0123456789".to_owned(),
        namespace: "demo".to_owned(),
        image: "local/benchwright:1".to_owned(),
        owner: Some(("run-0123456789".to_owned(), "uid-1".to_owned())),
        secrets: Secrets::default(),
    }
}

pub(crate) fn geo() -> Service {
    Service {
        name: "geo-1".to_owned(),
        component: "geo".to_owned(),
        replicas: 2,
        command: ["benchwright", "app", "hotel", "geo", "--store", "store-0.store.demo.svc:8080"]
            .map(str::to_owned)
            .to_vec(),
        environment: BTreeMap::new(),
        files: Files::default(),
        scheme: None,
        foreign: None,
        limits: Limits::default(),
        ready_within: Nanos::from_secs(30),
        role: "sut",
        chart: None,
        manifest: None,
    }
}

fn text(objects: &[Value]) -> String {
    let text = |object: &Value| serde_json::to_string_pretty(object).unwrap() + "\n";
    objects.iter().map(text).collect()
}

#[test]
fn a_service_is_pods_with_names_and_addresses_of_their_own() {
    let objects = service(&run(), &geo(), &["w1".to_owned(), "w2".to_owned()]);
    expect![[r#"
        {
          "apiVersion": "v1",
          "kind": "Service",
          "metadata": {
            "name": "geo-1",
            "namespace": "demo",
            "labels": {
              "app.kubernetes.io/managed-by": "benchwright",
              "benchwright.dev/run": "0123456789",
              "benchwright.dev/service": "geo-1"
            },
            "ownerReferences": [
              {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "name": "run-0123456789",
                "uid": "uid-1"
              }
            ]
          },
          "spec": {
            "clusterIP": "None",
            "publishNotReadyAddresses": true,
            "selector": {
              "benchwright.dev/run": "0123456789",
              "benchwright.dev/service": "geo-1"
            },
            "ports": [
              {
                "name": "main",
                "port": 8080
              }
            ]
          }
        }
        {
          "apiVersion": "apps/v1",
          "kind": "StatefulSet",
          "metadata": {
            "name": "geo-1",
            "namespace": "demo",
            "labels": {
              "app.kubernetes.io/managed-by": "benchwright",
              "benchwright.dev/run": "0123456789",
              "benchwright.dev/service": "geo-1"
            },
            "ownerReferences": [
              {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "name": "run-0123456789",
                "uid": "uid-1"
              }
            ]
          },
          "spec": {
            "replicas": 2,
            "serviceName": "geo-1",
            "podManagementPolicy": "Parallel",
            "selector": {
              "matchLabels": {
                "benchwright.dev/run": "0123456789",
                "benchwright.dev/service": "geo-1"
              }
            },
            "template": {
              "metadata": {
                "labels": {
                  "app.kubernetes.io/managed-by": "benchwright",
                  "benchwright.dev/run": "0123456789",
                  "benchwright.dev/service": "geo-1"
                }
              },
              "spec": {
                "automountServiceAccountToken": false,
                "enableServiceLinks": false,
                "terminationGracePeriodSeconds": 5,
                "securityContext": {
                  "runAsNonRoot": true,
                  "runAsUser": 65532,
                  "runAsGroup": 65532,
                  "fsGroup": 65532,
                  "seccompProfile": {
                    "type": "RuntimeDefault"
                  }
                },
                "affinity": {
                  "nodeAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": {
                      "nodeSelectorTerms": [
                        {
                          "matchFields": [
                            {
                              "key": "metadata.name",
                              "operator": "In",
                              "values": [
                                "w1"
                              ]
                            }
                          ]
                        },
                        {
                          "matchFields": [
                            {
                              "key": "metadata.name",
                              "operator": "In",
                              "values": [
                                "w2"
                              ]
                            }
                          ]
                        }
                      ]
                    }
                  }
                },
                "topologySpreadConstraints": [
                  {
                    "maxSkew": 1,
                    "topologyKey": "kubernetes.io/hostname",
                    "whenUnsatisfiable": "ScheduleAnyway",
                    "labelSelector": {
                      "matchLabels": {
                        "benchwright.dev/run": "0123456789",
                        "benchwright.dev/service": "geo-1"
                      }
                    }
                  }
                ],
                "containers": [
                  {
                    "name": "main",
                    "image": "local/benchwright:1",
                    "command": [
                      "/benchwright",
                      "app",
                      "hotel",
                      "geo",
                      "--store",
                      "store-0.store.demo.svc:8080",
                      "--listen",
                      "0.0.0.0:8080"
                    ],
                    "env": [],
                    "ports": [
                      {
                        "name": "main",
                        "containerPort": 8080
                      }
                    ],
                    "readinessProbe": {
                      "tcpSocket": {
                        "port": 8080
                      },
                      "periodSeconds": 1
                    },
                    "resources": {},
                    "securityContext": {
                      "allowPrivilegeEscalation": false,
                      "readOnlyRootFilesystem": true,
                      "capabilities": {
                        "drop": [
                          "ALL"
                        ]
                      }
                    },
                    "volumeMounts": [
                      {
                        "name": "tmp",
                        "mountPath": "/tmp"
                      },
                      {
                        "name": "folder",
                        "mountPath": "/own"
                      }
                    ]
                  }
                ],
                "volumes": [
                  {
                    "name": "tmp",
                    "emptyDir": {}
                  },
                  {
                    "name": "folder",
                    "emptyDir": {}
                  }
                ]
              }
            }
          }
        }
    "#]]
    .assert_eq(&text(&objects));
    assert_eq!(pod_of("geo-1", 2), "geo-1-1");
    assert_eq!(host_of(&run(), "geo-1", 1), "geo-1-0.geo-1.demo.svc");
}

#[test]
fn a_foreign_program_gets_its_port_its_folder_and_its_files() {
    let store = Service {
        name: "store".to_owned(),
        command: ["redis-server", "${folder}/redis.conf"].map(str::to_owned).to_vec(),
        environment: BTreeMap::from([("PORT".to_owned(), "${port}".to_owned())]),
        files: Files(BTreeMap::from([(
            "redis.conf".to_owned(),
            "port ${port}\ndir ${folder}\n".to_owned(),
        )])),
        foreign: Some(Foreign { port: Port::At(6379), tcp: true, log: None }),
        limits: Limits { cpu: Some(0.5), memory: Some(64 << 20) },
        ..geo()
    };
    let objects = service(&run(), &store, &[]);
    assert_eq!(objects[0]["data"]["file-0"], "port 6379\ndir /own\n");
    let container = &objects[2]["spec"]["template"]["spec"]["containers"][0];
    assert_eq!(container["command"], json!(["redis-server", "/own/redis.conf"]));
    assert_eq!(container["env"][0]["value"], "6379");
    assert_eq!(container["volumeMounts"][2]["mountPath"], "/own/redis.conf");
    assert_eq!(container["readinessProbe"]["tcpSocket"]["port"], 6379);
    // Requests are the limits: the quality of service is Guaranteed.
    assert_eq!(container["resources"]["limits"], json!({"cpu": "500m", "memory": "67108864"}));
    assert_eq!(container["resources"]["requests"], container["resources"]["limits"]);
}

#[test]
fn a_program_that_says_where_it_listens_gets_no_option() {
    let store = Service {
        command: ["benchwright", "kv", "serve", "--ip", "${listen}"].map(str::to_owned).to_vec(),
        ..geo()
    };
    let objects = service(&run(), &store, &[]);
    let container = &objects[1]["spec"]["template"]["spec"]["containers"][0];
    let expected = json!(["/benchwright", "kv", "serve", "--ip", format!("0.0.0.0:{PORT}")]);
    assert_eq!(container["command"], expected);
}

#[test]
fn a_load_is_a_generator_on_each_node_that_waits_for_its_start() {
    let arguments = Arguments::default()
        .with("URL", "http://a".into())
        .with("--script", Given::File("/load/mix.lua".into()))
        .with("ARGS", "7".into());
    let load = Generators {
        name: "load-0123456789-1".to_owned(),
        nodes: vec!["w3".to_owned()],
        arguments,
        files: vec![("mix.lua".to_owned(), "request = nil".to_owned())],
        secret_files: Vec::new(),
        longest: Nanos::from_millis(61_500),
        limits: Limits::default(),
    };
    expect![[r##"
        {
          "apiVersion": "v1",
          "kind": "ConfigMap",
          "metadata": {
            "name": "load-0123456789-1",
            "namespace": "demo",
            "labels": {
              "app.kubernetes.io/managed-by": "benchwright",
              "benchwright.dev/run": "0123456789",
              "benchwright.dev/service": "load-0123456789-1"
            },
            "ownerReferences": [
              {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "name": "run-0123456789",
                "uid": "uid-1"
              }
            ]
          },
          "data": {
            "mix.lua": "request = nil"
          }
        }
        {
          "apiVersion": "batch/v1",
          "kind": "Job",
          "metadata": {
            "name": "load-0123456789-1",
            "namespace": "demo",
            "labels": {
              "app.kubernetes.io/managed-by": "benchwright",
              "benchwright.dev/run": "0123456789",
              "benchwright.dev/service": "load-0123456789-1"
            },
            "ownerReferences": [
              {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "name": "run-0123456789",
                "uid": "uid-1"
              }
            ]
          },
          "spec": {
            "completionMode": "Indexed",
            "completions": 1,
            "parallelism": 1,
            "backoffLimit": 0,
            "activeDeadlineSeconds": 62,
            "ttlSecondsAfterFinished": 600,
            "template": {
              "metadata": {
                "labels": {
                  "app.kubernetes.io/managed-by": "benchwright",
                  "benchwright.dev/run": "0123456789",
                  "benchwright.dev/service": "load-0123456789-1",
                  "benchwright.dev/load": "true"
                }
              },
              "spec": {
                "restartPolicy": "Never",
                "automountServiceAccountToken": false,
                "enableServiceLinks": false,
                "terminationGracePeriodSeconds": 1,
                "securityContext": {
                  "runAsNonRoot": true,
                  "runAsUser": 65532,
                  "runAsGroup": 65532,
                  "fsGroup": 65532,
                  "seccompProfile": {
                    "type": "RuntimeDefault"
                  }
                },
                "affinity": {
                  "nodeAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": {
                      "nodeSelectorTerms": [
                        {
                          "matchFields": [
                            {
                              "key": "metadata.name",
                              "operator": "In",
                              "values": [
                                "w3"
                              ]
                            }
                          ]
                        }
                      ]
                    }
                  },
                  "podAntiAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": [
                      {
                        "topologyKey": "kubernetes.io/hostname",
                        "labelSelector": {
                          "matchLabels": {
                            "benchwright.dev/run": "0123456789",
                            "benchwright.dev/service": "load-0123456789-1"
                          }
                        }
                      }
                    ]
                  }
                },
                "containers": [
                  {
                    "name": "main",
                    "image": "local/benchwright:1",
                    "command": [
                      "/benchwright",
                      "load",
                      "http://a",
                      "--script",
                      "/load/mix.lua",
                      "--part",
                      "#$(JOB_COMPLETION_INDEX)/1",
                      "--start",
                      "stdin",
                      "--framed",
                      "--",
                      "7"
                    ],
                    "stdin": true,
                    "stdinOnce": true,
                    "resources": {},
                    "securityContext": {
                      "allowPrivilegeEscalation": false,
                      "readOnlyRootFilesystem": true,
                      "capabilities": {
                        "drop": [
                          "ALL"
                        ]
                      }
                    },
                    "volumeMounts": [
                      {
                        "name": "tmp",
                        "mountPath": "/tmp"
                      },
                      {
                        "name": "files",
                        "mountPath": "/load",
                        "readOnly": true
                      }
                    ]
                  }
                ],
                "volumes": [
                  {
                    "name": "tmp",
                    "emptyDir": {}
                  },
                  {
                    "name": "files",
                    "configMap": {
                      "name": "load-0123456789-1"
                    }
                  }
                ]
              }
            }
          }
        }
    "##]]
    .assert_eq(&text(&generators(&run(), &load)));
}

#[test]
fn everything_has_the_label_and_the_owner_of_its_run() {
    let load = Generators {
        name: "load-1".to_owned(),
        nodes: vec!["w1".to_owned()],
        arguments: Arguments::default(),
        files: vec![("a".to_owned(), String::new())],
        secret_files: Vec::new(),
        longest: Nanos::SECOND,
        limits: Limits::default(),
    };
    let mut objects = service(&run(), &geo(), &[]);
    objects.extend(generators(&run(), &load));
    objects.push(receiver(&run(), 18_080));
    objects.push(program(&run(), "p", &["benchwright".to_owned()], &BTreeMap::new()));
    for object in &objects {
        assert_eq!(object["metadata"]["labels"][RUN], "0123456789", "{object}");
        assert_eq!(object["metadata"]["ownerReferences"][0]["uid"], "uid-1", "{object}");
        assert_eq!(object["metadata"]["namespace"], "demo", "{object}");
        let template = object.pointer("/spec/template/metadata/labels");
        assert!(template.is_none_or(|labels| labels[RUN] == "0123456789"), "{object}");
    }
    // The owner owns itself no more than the namespace, which it is in.
    assert_eq!(owner(&run(), "name: x")["metadata"]["ownerReferences"], Value::Null);
    assert_eq!(namespace(&run())["metadata"]["labels"][RUN], "0123456789");
}

#[test]
fn names_that_the_api_refuses_are_found_before() {
    for name in ["geo", "geo-1", "a1"] {
        assert_eq!(wrong_name(name), None, "{name}");
    }
    for name in ["Geo", "1geo", "geo.1", "geo_1", "geo-", "", &"a".repeat(51)] {
        assert!(wrong_name(name).unwrap().contains("write up to 50 of a-z"), "{name}");
    }
}

#[test]
fn the_receiver_is_the_generator_of_whichever_load() {
    let load = Generators {
        name: "load-1".to_owned(),
        nodes: vec!["w1".to_owned()],
        arguments: Arguments::default(),
        files: Vec::new(),
        secret_files: Vec::new(),
        longest: Nanos::SECOND,
        limits: Limits::default(),
    };
    let job = generators(&run(), &load).pop().unwrap();
    let labels = &job["spec"]["template"]["metadata"]["labels"];
    let service = receiver(&run(), 18_080);
    for (name, value) in service["spec"]["selector"].as_object().unwrap() {
        assert_eq!(&labels[name], value, "{name}");
    }
    assert_eq!(service["spec"]["ports"][0]["port"], 18_080);
}

/// A run with a secret of a component and one of the load.
fn with_secrets() -> Run {
    let mut secrets = Secrets::default();
    let environment = |name: &str| Some(format!("canary-{name}\""));
    secrets.find("${env.PASSWORD} ${env.TOKEN}", &environment);
    Run { secrets, ..run() }
}

#[test]
fn pods_refer_to_the_secret_of_the_run_and_only_that_object_has_values() {
    let run = with_secrets();
    let url = "postgres://u:${env.PASSWORD}@db".to_owned();
    let environment = BTreeMap::from([("URL".to_owned(), url)]);
    let files = Files(BTreeMap::from([("a.conf".to_owned(), "p=${env.PASSWORD}".to_owned())]));
    let geo = Service { environment, files, ..geo() };
    let objects = service(&run, &geo, &[]);
    let container = objects[2].pointer("/spec/template/spec/containers/0").unwrap();
    let reference = json!({"secretKeyRef": {"name": "secrets-0123456789", "key": "env.PASSWORD"}});
    assert_eq!(
        container["env"],
        json!([
            {"name": "SECRET_env_PASSWORD", "valueFrom": reference},
            {"name": "URL", "value": "postgres://u:$(SECRET_env_PASSWORD)@db"},
        ])
    );
    // A file with a secret is in an object of its own.
    assert_eq!(objects[0]["kind"], "Secret");
    assert_eq!(objects[0]["stringData"], json!({"file-0": "p=canary-PASSWORD\""}));
    let volumes = objects[2].pointer("/spec/template/spec/volumes").unwrap();
    assert_eq!(volumes[2], json!({"name": "files", "secret": {"secretName": "geo-1-files"}}));
    assert!(!text(&objects[1..]).contains("canary"), "{}", text(&objects[1..]));

    let of_load = run.secrets.only(|name| name == "env.TOKEN");
    let secret = secrets(&run, &of_load, iter::empty()).unwrap();
    assert_eq!(
        secret["stringData"],
        json!({
            "env.PASSWORD": "canary-PASSWORD\"",
            "env.TOKEN": "canary-TOKEN\"",
            "load.json": "{\"env.TOKEN\":\"canary-TOKEN\\\"\"}",
        })
    );
    // A plan shows references.
    let run = Run { secrets: run.secrets.without_values(), ..run };
    let secret = secrets(&run, &of_load, iter::empty()).unwrap();
    let plan = text(&service(&run, &geo, &[])) + &secret.to_string();
    assert!(!plan.contains("canary") && plan.contains("${env.TOKEN}"), "{plan}");
    assert_eq!(secrets(&self::run(), &Secrets::default(), iter::empty()), None);
}

#[test]
fn generators_read_the_secrets_of_their_requests_from_a_mounted_file() {
    let arguments = Arguments::default()
        .with("URL", "http://a".into())
        .with("--header", "Authorization: ${env.TOKEN}".into())
        .with(SECRETS_OPTION, "-".into());
    let generators = Generators {
        name: "load-1".to_owned(),
        nodes: vec!["a".to_owned()],
        arguments,
        files: Vec::new(),
        secret_files: Vec::new(),
        longest: Nanos::from_secs(10),
        limits: Limits::default(),
    };
    let objects = super::generators(&with_secrets(), &generators);
    let pod = objects[0].pointer("/spec/template/spec").unwrap();
    let command = pod["containers"][0]["command"].as_array().unwrap();
    let at = command.iter().position(|word| word == "--secrets").unwrap();
    assert_eq!(command[at + 1], "/secrets/load.json");
    assert_eq!(pod["volumes"][1]["secret"]["secretName"], "secrets-0123456789");
    assert!(!text(&objects).contains("canary"));
    // The key of a client is beside it, and in the same Secret.
    let key = "1-client.key".to_owned();
    let with_key = Generators { secret_files: vec![key.clone()], ..generators };
    let objects = super::generators(&with_secrets(), &with_key);
    let items = objects[0].pointer("/spec/template/spec/volumes/1/secret/items").unwrap();
    let item = |key: &str| json!({"key": key, "path": key});
    assert_eq!(*items, json!([item("1-client.key"), item("load.json")]));
    let secret = secrets(&with_secrets(), &Secrets::default(), iter::once((key, "a key"))).unwrap();
    assert_eq!(secret["stringData"]["1-client.key"], "a key");
    assert_eq!(secret["stringData"]["load.json"], "{}");
}
