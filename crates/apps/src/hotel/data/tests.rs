use super::*;

#[test]
fn the_number_of_each_is_that_of_the_contract() {
    let lengths = [places().len(), profiles().len(), candidates().len(), capacities().len()];
    assert_eq!(lengths, [80; 4]);
    assert_eq!((rates().len(), users().len()), (27, 501));
    let of = |hotel| reviews().iter().filter(|review| review.hotel_id == hotel).count();
    assert_eq!(["1", "2", "3"].map(of), [4, 2, 0]);
    assert_eq!((restaurants().len(), museums().len()), (6, 6));
}

#[test]
fn descriptions_are_as_long_as_those_of_the_original() {
    for hotel in profiles() {
        let description = hotel.description.len();
        assert!((120..=240).contains(&description), "hotel {}: {description} bytes", hotel.id);
    }
}

#[test]
fn rates_repeat_every_five_hotels() {
    let rate = |id: &str| {
        let plan = rates().into_iter().find(|plan| plan.hotel_id == id)?;
        let room = plan.room_type?;
        Some((room.total_rate, room.total_rate_inclusive, plan.out_date))
    };
    assert_eq!(rate("2"), Some((139.0, 153.09, "2015-04-10".into())));
    assert_eq!(rate("9"), Some((232.0, 258.0, "2015-04-24".into())));
    assert_eq!(rate("12"), Some((124.0, 144.0, "2015-04-17".into())));
    assert_eq!(rate("15"), Some((109.0, 123.17, "2015-04-24".into())));
    assert_eq!(rate("6"), None);
    assert_eq!(rate("40"), None);
}

#[test]
fn capacities_repeat_every_three_hotels() {
    let rooms = |number: usize| capacities()[number - 1].1;
    assert_eq!([1, 6, 7, 8, 9, 80].map(rooms), [200, 200, 300, 250, 200, 250]);
}

#[test]
fn a_password_is_the_number_ten_times() {
    let users = users();
    assert_eq!(users[7], ("Cornell_7".into(), hex_digest(b"7777777777")));
    assert_eq!(users[500].1, hex_digest("500".repeat(10).as_bytes()));
}

#[test]
fn a_digest_is_lower_case_hexadecimal_sha_256() {
    let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    assert_eq!(hex_digest(b"abc"), abc);
}
