use super::*;

fn request(sent: u64) -> Request {
    let at = Instant(sent);
    Request {
        pool: 0,
        slot: Slot(0),
        intended: at,
        number: 0,
        label: Label::NONE,
        session: Session::NONE,
        operations: 0,
        again: false,
        is_redirected: false,
        keeps_sent: false,
        is_held: false,
        overdue: false,
        room: at,
        sent: at,
        held: Nanos::ZERO,
        first_byte: Instant::NEVER,
    }
}

fn drained(outstanding: &mut Outstanding) -> Vec<Request> {
    std::iter::from_fn(|| outstanding.remove_oldest()).collect()
}

#[test]
fn the_oldest_is_found_whatever_was_removed() {
    let mut outstanding = Outstanding::new();
    let tokens: Vec<Token> = (0..5).map(|i| outstanding.insert(request(i))).collect();
    outstanding.remove(tokens[2]);
    outstanding.remove(tokens[0]);
    assert_eq!(outstanding.expired(Instant(10), Nanos(9)), Some((tokens[1], request(1))));
    assert_eq!(outstanding.expired(Instant(9), Nanos(9)), None);
    outstanding.remove(tokens[4]);
    outstanding.insert(request(9));
    let left: Vec<u64> = drained(&mut outstanding).iter().map(|r| r.sent.0).collect();
    assert_eq!(left, [1, 3, 9]);
    assert_eq!((outstanding.len(), outstanding.next_expiry(Nanos(1))), (0, None));
    assert!(outstanding.entries.len() <= 5, "slots are used again");
}

#[test]
#[should_panic(expected = "a token completes once")]
fn a_request_completes_once() {
    let mut outstanding = Outstanding::new();
    let token = outstanding.insert(request(0));
    outstanding.remove(token);
    outstanding.remove(token);
}

#[test]
fn a_marked_request_is_not_found_again_but_stays() {
    let mut outstanding = Outstanding::new();
    let tokens: Vec<Token> = (0..4).map(|i| outstanding.insert(request(i))).collect();
    let mut found = Vec::new();
    while let Some((token, _)) = outstanding.expired(Instant(11), Nanos(10)) {
        found.push(token);
        outstanding.mark(token);
    }
    assert_eq!(found, tokens[..2]);
    assert_eq!(outstanding.next_expiry(Nanos(10)), Some(Instant(12)));
    // A late response after all, and one in time.
    outstanding.remove(tokens[0]);
    outstanding.remove(tokens[2]);
    assert_eq!(outstanding.next_expiry(Nanos(10)), Some(Instant(13)));
    outstanding.mark(tokens[3]);
    assert_eq!(outstanding.next_expiry(Nanos(10)), None);
    let late = outstanding.insert(request(20));
    assert_eq!(outstanding.expired(Instant(30), Nanos(10)), Some((late, request(20))));
    assert_eq!(outstanding.len(), 3);
}

/// Compares with a list that is searched from its beginning each time.
#[test]
fn any_sequence_of_calls_gives_what_a_plain_list_gives() {
    for seed in 0..200 {
        let mut random = ::measure::Random::new(seed);
        let mut outstanding = Outstanding::new();
        let mut list: Vec<(Token, Request, bool)> = Vec::new();
        let timeout = Nanos(20);
        for now in 0..300 {
            match random.below(5) {
                0 | 1 => {
                    let token = outstanding.insert(request(now));
                    list.push((token, request(now), false));
                }
                2 if !list.is_empty() => {
                    let (token, request, _) = list.remove(random.below(list.len() as u64) as usize);
                    assert_eq!(outstanding.remove(token), request);
                }
                3 if !list.is_empty() => {
                    let place = random.below(list.len() as u64) as usize;
                    if !list[place].2 {
                        let (token, ..) = list.remove(place);
                        *outstanding.sent_now(token) = request(now);
                        list.push((token, request(now), false));
                    }
                }
                _ => {
                    let first = list.iter_mut().find(|(.., is_marked)| !is_marked);
                    let late =
                        first.filter(|(_, request, _)| request.sent + timeout <= Instant(now));
                    let found = outstanding.expired(Instant(now), timeout);
                    assert_eq!(found, late.as_ref().map(|late| (late.0, late.1)), "seed {seed}");
                    if let Some(late) = late {
                        outstanding.mark(late.0);
                        (late.1.overdue, late.2) = (true, true);
                    }
                }
            }
            let next =
                list.iter().find(|(.., is_marked)| !is_marked).map(|(_, r, _)| r.sent + timeout);
            assert_eq!(outstanding.next_expiry(timeout), next, "seed {seed}");
            assert_eq!(outstanding.len(), list.len());
        }
        let left: Vec<Request> = list.into_iter().map(|(_, request, _)| request).collect();
        assert_eq!(drained(&mut outstanding), left, "seed {seed}");
    }
}
