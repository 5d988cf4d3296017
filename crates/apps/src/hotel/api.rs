//! The calls between the services: messages and stubs generated from `proto/`. Every service is a
//! trait, which the service itself implements, and [`Remote`] for its replicas in other processes:
//! a caller does not know which of the two it has.

use crate::kit::rpc::Peers;

macro_rules! packages {
    ($($package:ident)*) => {
        $(
            pub mod $package {
                include!(concat!(env!("OUT_DIR"), "/", stringify!($package), ".rs"));
            }
        )*
    };
}

packages! { attractions geo profile rate recommendation reservation review search store user }

pub use attractions::Attractions;
pub use geo::Geo;
pub use profile::Profile;
pub use rate::Rate;
pub use recommendation::Recommendation;
pub use reservation::Reservation;
pub use review::Review;
pub use search::Search;
pub use store::Store;
pub use user::User;

/// A service in other processes.
#[derive(Clone)]
pub struct Remote(pub Peers);
