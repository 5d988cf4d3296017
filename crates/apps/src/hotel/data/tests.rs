use super::*;

#[test]
fn there_are_as_many_of_each_as_the_contract_says() {
    let lengths = [places().len(), profiles().len(), candidates().len(), capacities().len()];
    assert_eq!(lengths, [80; 4]);
    assert_eq!((rates().len(), users().len()), (27, 501));
}

#[test]
fn a_profile_takes_470_to_500_bytes() {
    for hotel in profiles() {
        let length = serde_json::to_vec(&hotel).unwrap().len();
        assert!((470..=500).contains(&length), "hotel {} takes {length} bytes", hotel.id);
        let description = hotel.description.len();
        assert!((120..=240).contains(&description), "hotel {}: {description} bytes", hotel.id);
    }
}

#[test]
fn rates_go_round_every_five_hotels() {
    let rate = |id: &str| {
        let plan = rates().into_iter().find(|plan| plan.hotel_id == id)?;
        Some((plan.room_type.total_rate, plan.room_type.total_rate_inclusive, plan.out_date))
    };
    assert_eq!(rate("2"), Some((139.0, 153.09, "2015-04-10".into())));
    assert_eq!(rate("9"), Some((232.0, 258.0, "2015-04-24".into())));
    assert_eq!(rate("12"), Some((124.0, 144.0, "2015-04-17".into())));
    assert_eq!(rate("15"), Some((109.0, 123.17, "2015-04-24".into())));
    assert_eq!(rate("6"), None);
    assert_eq!(rate("40"), None);
}

#[test]
fn capacities_go_round_every_three_hotels() {
    let rooms = |number: usize| capacities()[number - 1].1;
    assert_eq!([1, 6, 7, 8, 9, 80].map(rooms), [200, 200, 300, 250, 200, 250]);
}

#[test]
fn a_password_is_the_number_ten_times() {
    let users = users();
    assert_eq!(users[7], ("Cornell_7".into(), hex_digest(b"7777777777")));
    assert_eq!(users[500].1, hex_digest("500".repeat(10).as_bytes()));
}
