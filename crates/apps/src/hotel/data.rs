//! The seeded data: 80 hotels, 27 of which have a rate, 501 users, one reservation, and some
//! reviews and attractions. The facts are the original's; the descriptions, and the positions of
//! attractions, are ours. It is always the same, and never read from a file.

use sha2::{Digest, Sha256};

use super::api::profile::{Address, Hotel, Image};
use super::api::rate::{RatePlan, RoomType};
use super::api::review::{Image as Picture, ReviewComm};
use super::api::store::{Booking, Candidate, Place};
use super::stay;

const HOTELS: u32 = 80;
const USERS: u32 = 501;

/// The hotels from this number on are in a straight line and differ only by their numbers.
const FIRST_OF_LINE: u32 = 7;

struct Named {
    name: &'static str,
    phone: &'static str,
    /// Latitude and longitude in degrees, where the geo service places it.
    place: (f64, f64),
    /// The latitude in its profile.
    shown_lat: f32,
    street: (&'static str, &'static str),
    rate: f64,
    price: f64,
    description: &'static str,
}

const NAMED: [Named; 6] = [
    Named {
        name: "Clift Hotel",
        phone: "(415) 775-4700",
        place: (37.7867, -122.4112),
        shown_lat: 37.7867,
        street: ("495", "Geary St"),
        rate: 109.0,
        price: 150.0,
        description: "A tall house near the theatres whose high rooms look over the roofs of the \
            town. The bar keeps its redwood panels, breakfast is served until noon, and two \
            squares with shops are a short walk away.",
    },
    Named {
        name: "W San Francisco",
        phone: "(415) 777-5300",
        place: (37.7854, -122.4005),
        shown_lat: 37.7854,
        street: ("181", "3rd St"),
        rate: 139.0,
        price: 120.0,
        description: "Thirty floors beside the museum of modern art, with a pool under a glass \
            roof, a lobby that turns into a lively bar at dusk, and quiet, bright rooms above \
            the gardens and the convention halls.",
    },
    Named {
        name: "Hotel Zetta",
        phone: "(415) 543-8555",
        place: (37.7854, -122.4071),
        // As in the original, the profile differs from the position; responses show the profile.
        shown_lat: 37.7834,
        street: ("55", "5th St"),
        rate: 109.0,
        price: 190.0,
        description: "Rooms for people who work with screens: large desks, good chairs and a fast \
            network. Two floors are kept for games, the cable cars turn around at the next \
            corner, and the old mint is across the street.",
    },
    Named {
        name: "Hotel Vitale",
        phone: "(415) 278-3700",
        place: (37.7936, -122.3930),
        shown_lat: 37.7936,
        street: ("8", "Mission St"),
        rate: 129.0,
        price: 160.0,
        description: "On the waterfront, opposite the ferry building and its market. Most windows \
            face the bay and the long bridge, there are baths on the roof terrace, and the \
            trams along the piers stop at the door.",
    },
    Named {
        name: "Phoenix Hotel",
        phone: "(415) 776-1380",
        place: (37.7831, -122.4181),
        shown_lat: 37.7831,
        street: ("601", "Eddy St"),
        rate: 119.0,
        price: 140.0,
        description: "A motor lodge of the fifties around a heated pool with painted floor, loved \
            by touring bands. Every door opens to the court, parking is free for guests, and \
            the concert halls are within reach on foot.",
    },
    Named {
        name: "St. Regis San Francisco",
        phone: "(415) 284-4000",
        place: (37.7863, -122.4015),
        shown_lat: 37.7863,
        street: ("125", "3rd St"),
        rate: 149.0,
        price: 200.0,
        description: "A calm tower between galleries and gardens. A butler looks after each floor, \
            the spa has a long indoor pool, and the restaurant downstairs cooks with \
            what the morning's market had.",
    },
];

/// Returns the position of each hotel.
pub fn places() -> Vec<Place> {
    (1..=HOTELS).map(at).collect()
}

/// Returns the prices, for the hotels that have a rate.
pub fn rates() -> Vec<RatePlan> {
    (1..=HOTELS).filter(|number| has_rate(*number)).map(rate_plan).collect()
}

pub fn profiles() -> Vec<Hotel> {
    (1..=HOTELS).map(profile).collect()
}

/// Returns the data for recommendations.
pub fn candidates() -> Vec<Candidate> {
    (1..=HOTELS).map(candidate).collect()
}

/// Returns the rooms per night of each hotel.
pub fn capacities() -> Vec<(String, u32)> {
    let capacity = |number| match number {
        ..FIRST_OF_LINE => 200,
        _ => [200, 300, 250][number as usize % 3],
    };
    (1..=HOTELS).map(|number| (number.to_string(), capacity(number))).collect()
}

/// Returns each user's name and the digest of the password, which is the user's number ten times.
pub fn users() -> Vec<(String, String)> {
    let digest = |number: u32| hex_digest(number.to_string().repeat(10).as_bytes());
    (0..USERS).map(|number| (format!("Cornell_{number}"), digest(number))).collect()
}

/// Returns the one reservation that exists from the start.
pub fn first_booking() -> Booking {
    let nights = stay::nights("2015-04-09", "2015-04-10").expect("both are days of the calendar");
    Booking {
        hotel_id: "4".into(),
        customer_name: "Alice".into(),
        begin: nights.start,
        end: nights.end,
        rooms: 1,
    }
}

/// Returns four reviews of the first hotel and two of the second.
pub fn reviews() -> Vec<ReviewComm> {
    let review = |(number, (hotel, name, rating, text)): (usize, &(&str, &str, f32, &str))| {
        let review_id = (number + 1).to_string();
        ReviewComm {
            images: Some(Picture { url: format!("/reviews/{review_id}.jpg"), default: false }),
            review_id,
            hotel_id: (*hotel).into(),
            name: (*name).into(),
            rating: *rating,
            description: (*text).into(),
        }
    };
    REVIEWS.iter().enumerate().map(review).collect()
}

/// Returns six restaurants, each a short walk from one of the named hotels.
pub fn restaurants() -> Vec<Place> {
    (1..=6).map(|number| beside(number, 0.0010, 0.0005)).collect()
}

/// Returns six museums, somewhat farther away.
pub fn museums() -> Vec<Place> {
    (1..=6).map(|number| beside(number, -0.0030, 0.0040)).collect()
}

/// Returns SHA-256 in lower-case hexadecimal, without salt: the form in which passwords are stored.
pub fn hex_digest(bytes: &[u8]) -> String {
    hex(Sha256::new_with_prefix(bytes))
}

pub fn hex(digest: Sha256) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digits = |byte: u8| [byte >> 4, byte & 15].map(|half| char::from(DIGITS[half as usize]));
    digest.finalize().into_iter().flat_map(digits).collect()
}

const REVIEWS: [(&str, &str, f32, &str); 6] = [
    ("1", "Ada", 4.5, "Quiet rooms above the roofs, and breakfast when one wakes up."),
    ("1", "Basil", 4.0, "The bar alone is worth the stay; the lift takes its time."),
    ("1", "Chloe", 3.5, "A grand old house whose pipes are as old."),
    ("1", "Dmitri", 5.0, "Two squares, three theatres, and the kindest porter in town."),
    ("2", "Emil", 4.0, "The pool under the glass roof is warm in winter."),
    ("2", "Fatima", 3.0, "Lively at dusk means loud at midnight; ask for the garden side."),
];

fn beside(number: u32, lat: f64, lon: f64) -> Place {
    let hotel = at(number);
    Place { lat: hotel.lat + lat, lon: hotel.lon + lon, ..hotel }
}

fn at(number: u32) -> Place {
    let (lat, lon) = place(number);
    Place { id: number.to_string(), lat, lon }
}

fn named(number: u32) -> Option<&'static Named> {
    NAMED.get(number as usize - 1)
}

fn place(number: u32) -> (f64, f64) {
    let along_line = f64::from(number) / 500.0;
    let on_line = (37.7835 + along_line * 3.0, -122.41 + along_line * 4.0);
    named(number).map_or(on_line, |hotel| hotel.place)
}

/// Computes the profile's coordinates in 32 bits, since responses show their last digit.
fn shown_place(number: u32) -> (f32, f32) {
    let along_line = number as f32 / 500.0;
    let on_line = (37.7835 + along_line * 3.0, -122.41 + along_line * 4.0);
    named(number).map_or(on_line, |hotel| (hotel.shown_lat, hotel.place.1 as f32))
}

fn has_rate(number: u32) -> bool {
    number <= 3 || (number >= FIRST_OF_LINE && number.is_multiple_of(3))
}

/// Returns the rate and the rate with taxes, which repeat every five hotels.
fn prices(number: u32) -> (f64, f64) {
    match number {
        2 => (139.0, 153.09),
        1 | 3 => (109.0, 123.17),
        _ => [(109.0, 123.17), (120.0, 140.0), (124.0, 144.0), (132.0, 158.0), (232.0, 258.0)]
            [number as usize % 5],
    }
}

fn rate_plan(number: u32) -> RatePlan {
    let (rate, inclusive) = prices(number);
    let out_date = match number {
        1..=3 => "2015-04-10",
        _ if number.is_multiple_of(2) => "2015-04-17",
        _ => "2015-04-24",
    };
    let (code, description) = match number {
        2 => ("QN", "Queen sized bed"),
        _ => ("KNG", "King sized bed"),
    };
    RatePlan {
        hotel_id: number.to_string(),
        code: "RACK".into(),
        in_date: "2015-04-09".into(),
        out_date: out_date.into(),
        room_type: Some(RoomType {
            bookable_rate: rate,
            total_rate: rate,
            total_rate_inclusive: inclusive,
            code: code.into(),
            currency: "USD".into(),
            room_description: description.into(),
        }),
    }
}

fn profile(number: u32) -> Hotel {
    let like = named(number).unwrap_or(&NAMED[5]);
    let (lat, lon) = shown_place(number);
    let phone_number = match named(number) {
        Some(hotel) => hotel.phone.into(),
        None => format!("(415) 284-40{number}"),
    };
    Hotel {
        id: number.to_string(),
        name: like.name.into(),
        phone_number,
        description: like.description.into(),
        address: Some(Address {
            street_number: like.street.0.into(),
            street_name: like.street.1.into(),
            city: "San Francisco".into(),
            state: "CA".into(),
            country: "United States".into(),
            postal_code: "94103".into(),
            lat,
            lon,
        }),
        images: vec![Image { url: format!("/images/{number}.jpg"), default: true }],
    }
}

fn candidate(number: u32) -> Candidate {
    let (rate, price) = match named(number) {
        Some(hotel) => (hotel.rate, hotel.price),
        None if number.is_multiple_of(3) => prices(number),
        None => (135.0, 179.0),
    };
    Candidate { place: Some(at(number)), rate, price }
}

#[cfg(test)]
mod tests;
