use super::{Epoch, MOST_ACTIONS};

fn epoch<A>(slots: usize) -> Epoch<A> {
    let epoch = Epoch::new(slots);
    epoch.open(slots - 1, 0);
    epoch
}

#[test]
fn an_action_waits_for_every_session_that_was_in_the_epoch() {
    let epoch = epoch(3);
    let (first, last) = (epoch.enter(0), epoch.enter(2));
    epoch.bump("free").unwrap();
    assert_eq!(epoch.take_due(), None);
    first.refresh();
    assert_eq!(epoch.take_due(), None);
    drop(last);
    assert_eq!(epoch.take_due(), Some("free"));
    assert!(!epoch.has_actions());
}

#[test]
fn a_session_that_enters_later_is_not_waited_for() {
    let epoch = epoch(2);
    epoch.bump(1).unwrap();
    let _inside = epoch.enter(1);
    assert_eq!(epoch.take_due(), Some(1));
}

#[test]
fn actions_are_due_in_their_order() {
    let epoch = epoch(1);
    epoch.bump(1).unwrap();
    let inside = epoch.enter(0);
    epoch.bump(2).unwrap();
    assert_eq!(epoch.take_due(), Some(1));
    assert_eq!(epoch.take_due(), None);
    inside.refresh();
    assert_eq!(epoch.take_due(), Some(2));
}

#[test]
fn too_many_actions_are_given_back() {
    let epoch = epoch(1);
    (0..MOST_ACTIONS).for_each(|action| epoch.bump(action).unwrap());
    assert_eq!(epoch.bump(MOST_ACTIONS), Err(MOST_ACTIONS));
    assert_eq!(epoch.take_due(), Some(0));
    assert_eq!(epoch.bump(MOST_ACTIONS), Ok(()));
}
