//! The application as the contract describes it, in memory and without its services.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::SET_COOKIE;
use hyper::{Request, Response, StatusCode};
use serde_json::{Value, json};
use tokio::runtime::Builder;
use tokio::sync::{Notify, oneshot};
use tokio::time;

use crate::kit::lock::lock;
use crate::kit::query::Query;
use crate::kit::serve::{self, FullResponse, Head, Limits, Site};

#[derive(Clone, Default)]
pub(super) struct Fake {
    users: HashMap<String, u32>,
    pub(super) follows: BTreeSet<(u32, u32)>,
    /// The texts of each author's posts, the newest last.
    pub(super) user_timelines: BTreeMap<u32, Vec<String>>,
    pub(super) home_timelines: BTreeMap<u32, Vec<String>>,
    /// The posts that were sent, with those that were refused.
    pub(super) composed: u64,
    pub(super) fault: Fault,
}

#[derive(Clone, Copy, Default, PartialEq)]
pub(super) enum Fault {
    #[default]
    None,
    /// Posts are kept later, even if nobody waits for the response any more.
    LatePosts(Duration),
    /// Of each seven posts, one is kept and one is not, and both are reported as failed.
    FalseFailures,
    NoPosts,
}

impl Fake {
    pub(super) fn with(fault: Fault) -> Self {
        Fake { fault, ..Fake::default() }
    }

    pub(super) fn counts(&self) -> [usize; 3] {
        let posts = self.user_timelines.values().map(Vec::len).sum();
        [self.users.len(), self.follows.len(), posts]
    }

    pub(super) fn home_timeline_posts(&self) -> u64 {
        self.home_timelines.values().map(|posts| posts.len() as u64).sum()
    }

    /// Returns true if both have the same users, follows and posts in all timelines, in any order.
    pub(super) fn is_like(&self, other: &Fake) -> bool {
        let sorted = |timelines: &BTreeMap<u32, Vec<String>>| -> Vec<(u32, Vec<String>)> {
            let sorted = |(user, texts): (&u32, &Vec<String>)| {
                let mut texts = texts.clone();
                texts.sort();
                (*user, texts)
            };
            timelines.iter().map(sorted).collect()
        };
        (&self.users, &self.follows) == (&other.users, &other.follows)
            && sorted(&self.user_timelines) == sorted(&other.user_timelines)
            && sorted(&self.home_timelines) == sorted(&other.home_timelines)
    }

    pub(super) fn compose(&mut self, author: u32, text: String, mentions: &[u32]) {
        // What follows the last URL is lost; the URLs themselves become shorter.
        let mut parts = text.split(" http://");
        let mut kept = parts.next().unwrap_or_default().to_owned();
        kept.extend(parts.map(|url| format!(" http://short-url/{}", &url[..10])));
        let followers = self.follows.iter().filter(|(_, one)| *one == author).map(|(one, _)| *one);
        let readers: BTreeSet<u32> = followers.chain(mentions.iter().copied()).collect();
        for reader in readers {
            self.home_timelines.entry(reader).or_default().push(kept.clone());
        }
        self.user_timelines.entry(author).or_default().push(kept);
    }

    /// Returns the status and the body of the answer; the session in place of the body of a login.
    fn answer(&mut self, path: &str, form: Query<'_>, session: &str) -> (u16, String) {
        let get = |name: &str| form.get(name).into_owned();
        let number = |name: &str| get(name).parse::<u32>().unwrap();
        let of_session = || session.strip_prefix("login_token=").unwrap().parse::<u32>().unwrap();
        match path {
            "/wrk2-api/user/register" => {
                assert_eq!(get("username"), format!("username_{}", number("user_id")));
                assert!(get("first_name") == format!("first_name_{}", number("user_id")));
                match self.users.insert(get("username"), number("user_id")) {
                    None => (200, "Success!\n".into()),
                    Some(_) => {
                        let name = get("username");
                        (500, format!("User registration failure: User {name} already existed\n"))
                    }
                }
            }
            "/wrk2-api/user/follow" => {
                let pair = [get("user_name"), get("followee_name")];
                let [Some(user), Some(followee)] = pair.map(|name| self.users.get(&name)) else {
                    return (500, "Follow Failed: is not registered\n".into());
                };
                self.follows.insert((*user, *followee));
                (200, "Success!\n".into())
            }
            "/api/user/login" => {
                let user = self.users[&get("username")];
                assert_eq!(get("password"), format!("password_{user}"));
                (302, user.to_string())
            }
            "/api/user/get_followee" => {
                let user = of_session();
                let followees = self.follows.iter().filter(|(one, _)| *one == user);
                list(followees.map(|(_, other)| json!({"followee_id": other.to_string()})))
            }
            "/api/user/get_follower" => {
                let user = of_session();
                let followers = self.follows.iter().filter(|(_, other)| *other == user);
                list(followers.map(|(one, _)| json!({"follower_id": one.to_string()})))
            }
            "/wrk2-api/home-timeline/read" => page(&self.home_timelines, form),
            "/wrk2-api/user-timeline/read" => page(&self.user_timelines, form),
            "/wrk2-api/post/compose" => {
                self.composed += 1;
                let (author, text) = (number("user_id"), get("text"));
                assert_eq!(get("username"), format!("username_{author}"));
                let media = [get("media_ids"), get("media_types")];
                let [ids, types] = media.map(|list| serde_json::from_str::<Vec<String>>(&list));
                assert_eq!(ids.unwrap().len(), types.unwrap().len());
                let names = text.split(' ').filter_map(|word| word.strip_prefix('@'));
                let mentions: Vec<u32> =
                    names.filter_map(|name| self.users.get(name).copied()).collect();
                let failed = (500, "compose_post failure: it says\n".to_owned());
                match self.fault {
                    Fault::NoPosts => return failed,
                    Fault::FalseFailures if self.composed % 7 == 1 => return failed,
                    _ => self.compose(author, text, &mentions),
                }
                match self.fault {
                    Fault::FalseFailures if self.composed % 7 == 2 => failed,
                    _ => (200, "Successfully upload post\n".into()),
                }
            }
            other => panic!("{other} is not in the contract"),
        }
    }
}

fn page(timelines: &BTreeMap<u32, Vec<String>>, form: Query<'_>) -> (u16, String) {
    let number = |name: &str| form.get(name).parse::<usize>().unwrap();
    let (start, stop) = (number("start"), number("stop"));
    let posts =
        timelines.get(&(number("user_id") as u32)).into_iter().flat_map(|texts| texts.iter().rev());
    list(posts.skip(start).take(stop - start).map(|text| json!({"text": text, "urls": {}})))
}

/// Returns a list as the application encodes it.
fn list(items: impl Iterator<Item = Value>) -> (u16, String) {
    let items: Vec<Value> = items.collect();
    let text = serde_json::to_string(&items).unwrap().replace('/', "\\/");
    (200, if items.is_empty() { "{}".into() } else { text })
}

/// A running fake; it ends with this value.
pub(super) struct Served {
    pub(super) address: SocketAddr,
    site: Arc<Shared>,
    end: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    fake: Arc<Mutex<Fake>>,
    requests: AtomicU64,
    arrived: Notify,
}

impl Served {
    pub(super) fn start(fake: Fake) -> Self {
        let fake = Arc::new(Mutex::new(fake));
        let shared = Shared { fake, requests: AtomicU64::new(0), arrived: Notify::new() };
        let (site, (end, ended)) = (Arc::new(shared), oneshot::channel());
        let (tell, told) = std::sync::mpsc::channel();
        let served = Arc::clone(&site);
        let thread = std::thread::spawn(move || {
            let runtime = Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let listener = serve::listen(([127, 0, 0, 1], 0).into()).await.unwrap();
                tell.send(listener.local_addr().unwrap()).unwrap();
                let ended = async { drop(ended.await) };
                serve::until(ended, listener, Limits::default(), Arc::default(), served).await;
            });
        });
        let address = told.recv().unwrap();
        Served { address, site, end: Some(end), thread: Some(thread) }
    }

    pub(super) fn held(&self) -> Fake {
        lock(&self.site.fake).clone()
    }

    pub(super) fn change(&self, change: impl FnOnce(&mut Fake)) {
        change(&mut lock(&self.site.fake));
    }

    pub(super) fn repair(&self) {
        self.change(|fake| fake.fault = Fault::None);
    }

    pub(super) fn requests(&self) -> u64 {
        self.site.requests.load(Ordering::SeqCst)
    }

    /// Waits until so many requests have arrived.
    pub(super) async fn arrived(&self, requests: u64) {
        loop {
            let next = self.site.arrived.notified();
            if requests <= self.requests() {
                return;
            }
            next.await;
        }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        drop(self.end.take());
        let ended = self.thread.take().unwrap().join();
        assert!(ended.is_ok() || std::thread::panicking(), "the fake has panicked");
    }
}

impl Site for Shared {
    async fn answer(&self, request: Request<Bytes>) -> FullResponse {
        self.requests.fetch_add(1, Ordering::SeqCst);
        self.arrived.notify_waiters();
        let path = request.uri().path().to_owned();
        let late = match lock(&self.fake).fault {
            Fault::LatePosts(late) if path.ends_with("/compose") => late,
            _ => Duration::ZERO,
        };
        let fake = Arc::clone(&self.fake);
        let answering = async move {
            time::sleep(late).await;
            let body = String::from_utf8(request.body().to_vec()).unwrap();
            let form = Query::new(request.uri().query().or(Some(&body)));
            let session = request.headers().get("cookie");
            let session = session.map_or("", |cookie| cookie.to_str().unwrap());
            lock(&fake).answer(&path, form, session)
        };
        // It goes on even if the connection ends.
        let (code, text) = tokio::spawn(answering).await.unwrap();
        let is_login = code == 302;
        let mut response =
            Response::new(Full::new(if is_login { Bytes::new() } else { text.clone().into() }));
        *response.status_mut() = StatusCode::from_u16(code).unwrap();
        if is_login {
            let cookie = format!("login_token={text}; Path=/; HttpOnly");
            response.headers_mut().insert(SET_COOKIE, cookie.parse().unwrap());
        }
        response
    }

    fn keeps_body(&self, _: &Head) -> bool {
        true
    }

    fn refused_connection(&self) {}
}
