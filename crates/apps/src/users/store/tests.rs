use super::*;

use std::future::Future;

use redb::backends::InMemoryBackend;

use super::api::Store;

fn wait<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

fn user(username: &str) -> User {
    User { username: username.into(), hash: "$2b$".into(), ..User::default() }
}

fn find(store: &Embedded, username: &str) -> Option<User> {
    let named = Named { username: username.into() };
    wait(store.find(Request::new(named))).unwrap().into_inner().user
}

#[test]
fn a_name_is_taken_once_even_within_a_batch() {
    let database = Database::builder().create_with_backend(InMemoryBackend::new()).unwrap();
    let described =
        Changes { username: "ann".into(), description: Some("tall".into()), ..Changes::default() };
    let batch = [
        Write::Change(described.clone()),
        Write::Insert(user("ann")),
        Write::Insert(User { email: Some("bob@example.org".into()), ..user("ann") }),
        Write::Change(described),
    ];
    let tall = User { description: Some("tall".into()), ..user("ann") };
    let written = write(&database, &batch).unwrap();
    assert_eq!(written, [None, Some(user("ann")), None, Some(tall)]);
}

#[test]
fn a_change_keeps_what_it_does_not_state() {
    let folder = tempfile::tempdir().unwrap();
    let store = Embedded::open(folder.path(), Durability::Kill).unwrap();
    let insert = |one| wait(store.insert(Request::new(one))).unwrap().into_inner().made;
    assert!(insert(User { description: Some("tall".into()), ..user("ann") }));
    assert!(!insert(user("ann")));
    let changes = Changes { username: "ann".into(), login: Some("7".into()), ..Changes::default() };
    let changed = wait(store.change(Request::new(changes.clone()))).unwrap().into_inner().user;
    let expected =
        User { description: Some("tall".into()), login: Some("7".into()), ..user("ann") };
    assert_eq!(changed.as_ref(), Some(&expected));
    let nobody = Changes { username: "bob".into(), ..changes };
    assert_eq!(wait(store.change(Request::new(nobody))).unwrap().into_inner().user, None);
    drop(store);
    let again = Embedded::open(folder.path(), Durability::PowerLoss).unwrap();
    assert_eq!(find(&again, "ann"), Some(expected));
    assert_eq!(find(&again, "bob"), None);
}
