use super::*;

use std::future::Future;

use redb::backends::InMemoryBackend;
use tonic::Code;

use super::timelines::Timelines as _;
use crate::kit::store::{Durability, StoreFile};
use crate::social::api::common::Account;
use crate::social::api::post::Url;
use crate::social::bounds::MOST_EDGES;

const BOUNDS: Bounds = Bounds { length: 4, entries: 6 };

fn over(database: Database, most_bytes: u64) -> Embedded {
    // Any file will do: only its size is read.
    let path = std::env::current_exe().unwrap();
    Embedded::over(database, path, most_bytes, BOUNDS).unwrap()
}

fn store() -> Embedded {
    over(Database::builder().create_with_backend(InMemoryBackend::new()).unwrap(), u64::MAX)
}

fn wait<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

/// Returns the reply, or the code of the refusal.
fn reply<T>(call: impl Future<Output = Result<Response<T>, Status>>) -> Result<T, Code> {
    wait(call).map(Response::into_inner).map_err(|status| status.code())
}

fn register(store: &Embedded, user_id: i64, username: &str) -> Result<bool, Code> {
    let user = User { user_id, username: username.into(), ..User::default() };
    reply(store.insert(Request::new(user))).map(|inserted| inserted.made)
}

fn follow(store: &Embedded, user_id: i64, followee_id: i64) -> Result<(), Code> {
    reply(Graph::add(store, Request::new(Edge { user_id, followee_id }))).map(|_| ())
}

fn unfollow(store: &Embedded, user_id: i64, followee_id: i64) -> Result<(), Code> {
    reply(store.remove(Request::new(Edge { user_id, followee_id }))).map(|_| ())
}

fn followers(store: &Embedded, user_id: i64) -> Vec<i64> {
    reply(store.followers(Request::new(UserId { user_id }))).unwrap().ids
}

fn followees(store: &Embedded, user_id: i64) -> Vec<i64> {
    reply(store.followees(Request::new(UserId { user_id }))).unwrap().ids
}

fn put(store: &Embedded, post_id: i64, json: &'static str) -> Result<bool, Code> {
    let document = PostDocument { post_id, json: json.into() };
    reply(Posts::put(store, Request::new(document))).map(|reply| reply.made)
}

fn deliver(store: &Embedded, post_id: i64, user_ids: &[i64]) -> Result<(), Code> {
    let (kind, user_ids) = (Kind::Home.into(), user_ids.to_vec());
    let addition = Addition { kind, post_id, timestamp: post_id, user_ids };
    reply(timelines::Timelines::add(store, Request::new(addition))).map(|_| ())
}

fn home(store: &Embedded, user_id: i64) -> Vec<i64> {
    let range = RangeRequest { kind: Kind::Home.into(), user_id, start: 0, stop: 10 };
    reply(store.range(Request::new(range))).unwrap().ids
}

fn counts(store: &Embedded) -> CountsReply {
    reply(store.counts(Request::new(Nothing {}))).unwrap()
}

/// One of everything.
fn fill(store: &Embedded) {
    assert_eq!(register(store, 1, "ann"), Ok(true));
    follow(store, 2, 1).unwrap();
    let url = Url { shortened_url: "http://short-url/x".into(), expanded_url: "http://x".into() };
    reply(Urls::put(store, Request::new(UrlDocuments { urls: vec![url] }))).unwrap();
    assert_eq!(put(store, 7, "{seven}"), Ok(true));
    deliver(store, 7, &[2, 3]).unwrap();
}

fn one_of_everything() -> CountsReply {
    CountsReply {
        follows: 1,
        home_timeline_entries: 2,
        posts: 1,
        urls: 1,
        user_timeline_entries: 0,
        users: 1,
    }
}

#[test]
fn a_name_and_a_number_belong_to_one_user() {
    let store = store();
    assert_eq!(register(&store, 1, "ann"), Ok(true));
    assert_eq!(register(&store, 2, "ann"), Ok(false));
    assert_eq!(register(&store, 1, "bob"), Ok(false));
    assert_eq!(register(&store, 2, "bob"), Ok(true));
    let usernames = ["bob", "nobody", "ann"].map(str::to_owned).to_vec();
    let known = reply(store.known(Request::new(Names { usernames }))).unwrap().users;
    let account = |user_id, name: &str| Account { user_id, username: name.into() };
    assert_eq!(known, [account(2, "bob"), account(1, "ann")]);
}

#[test]
fn the_first_secret_is_kept_for_all() {
    let store = store();
    let keep = |secret: &'static str| {
        let secret = Secret { secret: secret.into() };
        reply(store.keep_secret(Request::new(secret))).unwrap().secret
    };
    assert_eq!((keep("first"), keep("second")), ("first".into(), "first".into()));
    reply(store.reset(Request::new(Nothing {}))).unwrap();
    assert_eq!(keep("third"), "first", "processes know it");
}

#[test]
fn an_edge_is_in_both_directions_or_in_none() {
    let store = store();
    for (user, followee) in [(3, 1), (2, 1), (3, 1), (1, 3), (4, 4)] {
        follow(&store, user, followee).unwrap();
    }
    assert_eq!((followers(&store, 1), followees(&store, 3)), (vec![2, 3], vec![1]));
    assert_eq!((followers(&store, 4), followees(&store, 4)), (vec![4], vec![4]));
    assert_eq!(counts(&store).follows, 4);
    for _ in 0..2 {
        unfollow(&store, 3, 1).unwrap();
    }
    assert_eq!((followers(&store, 1), followees(&store, 3)), (vec![2], vec![]));
    assert_eq!(counts(&store).follows, 3);
}

#[test]
fn nobody_follows_more_users_than_the_bound() {
    let store = store();
    let transaction = store.shared.database.begin_write().unwrap();
    let most = (0..MOST_EDGES as i64).collect::<Vec<_>>();
    transaction.open_table(tables::FOLLOWEES).unwrap().insert(-1, most).unwrap();
    transaction.commit().unwrap();
    assert_eq!(follow(&store, -1, -2), Err(Code::ResourceExhausted));
    assert_eq!(followers(&store, -2), Vec::<i64>::new());
    follow(&store, -1, 0).unwrap();
    unfollow(&store, -1, 0).unwrap();
    follow(&store, -1, -2).unwrap();
}

#[test]
fn a_post_never_changes() {
    let store = store();
    assert_eq!(put(&store, 7, "{seven}"), Ok(true));
    assert_eq!(put(&store, 7, "{other}"), Ok(false));
    let get = |ids: Vec<i64>| reply(store.get(Request::new(Ids { ids })));
    assert_eq!(get(vec![8, 7]).unwrap().json, ["", "{seven}"]);
    assert_eq!(get(vec![7; 101]), Err(Code::InvalidArgument));
}

#[test]
fn timelines_are_refused_what_they_have_no_room_for() {
    let store = store();
    deliver(&store, 1, &[1, 2, 3, 4]).unwrap();
    assert_eq!(deliver(&store, 2, &[1, 2, 3]), Err(Code::ResourceExhausted));
    deliver(&store, 3, &[1, 2]).unwrap();
    assert_eq!((home(&store, 1), home(&store, 3)), (vec![3, 1], vec![1]));
}

#[test]
fn a_full_store_takes_nothing_new() {
    let database = Database::builder().create_with_backend(InMemoryBackend::new()).unwrap();
    let store = over(database, 1);
    assert_eq!(register(&store, 1, "ann"), Err(Code::ResourceExhausted));
    assert_eq!(follow(&store, 2, 1), Err(Code::ResourceExhausted));
    unfollow(&store, 2, 1).unwrap();
    assert_eq!(counts(&store), CountsReply::default());
}

#[test]
fn a_reset_returns_to_the_snapshot_as_often_as_wanted() {
    let store = store();
    fill(&store);
    let noted = reply(store.snapshot(Request::new(Nothing {}))).unwrap();
    assert_eq!(noted, one_of_everything());
    for _ in 0..3 {
        assert_eq!(put(&store, 8, "{eight}"), Ok(true));
        deliver(&store, 8, &[2]).unwrap();
        unfollow(&store, 2, 1).unwrap();
        assert_eq!(home(&store, 2), [8, 7]);
        assert_eq!(reply(store.reset(Request::new(Nothing {}))).unwrap(), noted);
        assert_eq!((home(&store, 2), followers(&store, 1)), (vec![7], vec![2]));
    }
    follow(&store, 3, 1).unwrap();
    let later = reply(store.snapshot(Request::new(Nothing {}))).unwrap();
    assert_eq!(put(&store, 8, "{eight}"), Ok(true));
    assert_eq!(reply(store.reset(Request::new(Nothing {}))).unwrap(), later);
}

#[test]
fn a_reset_without_a_snapshot_empties_it() {
    let store = store();
    fill(&store);
    assert_eq!(counts(&store), one_of_everything());
    assert_eq!(reply(store.reset(Request::new(Nothing {}))).unwrap(), CountsReply::default());
    assert!(home(&store, 2).is_empty());
    fill(&store);
    assert_eq!(counts(&store), one_of_everything());
}

#[test]
fn everything_is_there_again_after_a_start() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("social.redb");
    let open = || {
        let file = StoreFile::open(&path, Durability::Kill).unwrap();
        over(Database::builder().create_with_backend(file).unwrap(), u64::MAX)
    };
    let store = open();
    fill(&store);
    reply(store.snapshot(Request::new(Nothing {}))).unwrap();
    deliver(&store, 8, &[2]).unwrap();
    drop(store);
    let store = open();
    assert_eq!(home(&store, 2), [8, 7]);
    reply(store.reset(Request::new(Nothing {}))).unwrap();
    assert_eq!((home(&store, 2), counts(&store)), (vec![7], one_of_everything()));
}
