//! The social network as processes: every service with its replicas, or all in one; and a client of
//! its front.

use std::collections::BTreeMap;

use tempfile::TempDir;

use crate::instance::Instance;

/// Each service after those that it names.
const SERVICES: [(&str, &[&str]); 12] = [
    ("unique-id", &[]),
    ("media", &[]),
    ("url-shorten", &["store"]),
    ("user-mention", &["store"]),
    ("post-storage", &["store"]),
    ("user", &["store"]),
    ("text", &["url-shorten", "user-mention"]),
    ("social-graph", &["store", "user"]),
    ("user-timeline", &["store", "post-storage"]),
    ("home-timeline", &["store", "post-storage", "social-graph"]),
    (
        "compose-post",
        &["text", "user", "media", "unique-id", "post-storage", "user-timeline", "home-timeline"],
    ),
    ("front", &["store", "user", "social-graph", "compose-post", "user-timeline", "home-timeline"]),
];

/// The cheapest hash: users of tests have nothing to protect.
pub(crate) const CHEAP: [&str; 2] = ["--password-hash", "salted-sha256"];

/// A running network. Fields are dropped from top to bottom.
pub(crate) struct Network {
    pub(crate) services: BTreeMap<&'static str, Vec<Instance>>,
    pub(crate) folder: TempDir,
}

impl Network {
    /// Starts all services in one process.
    pub(crate) fn in_one(arguments: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let data = ["--data", folder.path().to_str().unwrap()];
        let one = Instance::of("social", &[&["all-in-one"], &data[..], &CHEAP, arguments].concat());
        Network { services: BTreeMap::from([("front", vec![one])]), folder }
    }

    /// Starts each service in processes of its own, with its options.
    pub(crate) fn of_services(replicas: usize, options: &[(&str, &[&str])]) -> Self {
        Self::with_documents(None, replicas, options)
    }

    /// Does the same; documents are in the database with this URL, or else in the store.
    pub(crate) fn with_documents(
        url: Option<&str>,
        replicas: usize,
        options: &[(&str, &[&str])],
    ) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut network = Network { services: BTreeMap::new(), folder };
        network.start_store();
        for (name, called) in SERVICES {
            let own = || options.iter().filter(|(of, _)| *of == name).flat_map(|(_, own)| *own);
            let keeps_timelines = name.ends_with("-timeline");
            let is_in_redis = own().any(|option| *option == "--redis");
            let mut named = Vec::new();
            for one in called {
                let addresses = network.addresses(one);
                match (*one, url) {
                    ("store", _) if keeps_timelines && is_in_redis => {}
                    ("store", Some(url)) if !keeps_timelines => {
                        named.push(("--store".to_owned(), url.to_owned()));
                        if name == "front" && !is_in_redis {
                            named.push(("--timelines".to_owned(), addresses));
                        }
                    }
                    (one, _) => named.push((format!("--{one}"), addresses)),
                }
            }
            let mut arguments = vec![name];
            arguments.extend(named.iter().flat_map(|(one, at)| [one.as_str(), at.as_str()]));
            if name == "user" {
                arguments.extend(CHEAP);
            }
            arguments.extend(own());
            let started = (0..replicas).map(|_| Instance::of("social", &arguments)).collect();
            network.services.insert(name, started);
        }
        network
    }

    fn start_store(&mut self) {
        let data = self.folder.path().to_str().unwrap();
        let store = Instance::of("social", &["store", "--data", data]);
        self.services.insert("store", vec![store]);
    }

    pub(crate) fn addresses(&self, service: &str) -> String {
        let addresses = self.services[service].iter().map(|one| one.address.to_string());
        addresses.collect::<Vec<_>>().join(",")
    }

    pub(crate) fn front(&self) -> &Instance {
        &self.services["front"][0]
    }

    /// Sends a form to `/wrk2-api` that must succeed.
    pub(crate) fn must(&self, path: &str, form: &str) {
        let answer = ask(self.front(), "POST", &format!("/wrk2-api/{path}"), "", form);
        assert!(answer.code == 200 && answer.body.starts_with("Success"), "{answer:?} to {form}");
    }

    /// Registers users 0 to `count` - 1, with the initialiser's names.
    pub(crate) fn register(&self, count: usize) {
        for user in 0..count {
            let form = format!(
                "first_name=first_name_{user}&last_name=last_name_{user}&username=username_{user}\
                 &password=password_{user}&user_id={user}"
            );
            self.must("user/register", &form);
        }
    }
}

#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) code: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.filter(|(key, _)| *key == name).map(|(_, value)| value).next()
    }
}

/// Sends a request on a connection of its own. `fields` are further header lines.
pub(crate) fn ask(
    one: &Instance,
    method: &str,
    target: &str,
    fields: &str,
    body: impl AsRef<[u8]>,
) -> Answer {
    let body = body.as_ref();
    let (host, length) = (one.address, body.len());
    let head = format!(
        "{method} {target} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{fields}\
         Content-Length: {length}\r\n\r\n"
    );
    let answer = one.exchange([head.as_bytes(), body].concat());
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head and a body");
    Answer { code: head[9..12].parse().unwrap(), head: head.to_owned(), body: body.to_owned() }
}
