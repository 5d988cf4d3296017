//! The calls between the services: messages and stubs made from `proto/`, and each service as
//! its callers see it. Every one is a trait, which the service itself implements, and [`Remote`] for
//! the replicas of it in other processes: a caller does not know which of the two it has.

use std::pin::pin;

use tonic::{Request, Response, Status, async_trait};

use crate::rpc::Peers;

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

pub use attractions::attractions_server::Attractions;
pub use geo::geo_server::Geo;
pub use profile::profile_server::Profile;
pub use rate::rate_server::Rate;
pub use recommendation::recommendation_server::Recommendation;
pub use reservation::reservation_server::Reservation;
pub use review::review_server::Review;
pub use search::search_server::Search;
pub use store::store_server::Store;
pub use user::user_server::User;

/// A service in other processes.
#[derive(Clone)]
pub struct Remote(pub Peers);

type Answer<T> = Result<Response<T>, Status>;

/// `Geo by geo_client::GeoClient { nearby(geo::NearbyRequest) -> geo::NearbyReply; }`
macro_rules! remote {
    ($($service:ident by $module:ident::$client:ident { $($method:ident($request:ty) -> $reply:ty;)* })*) => {
        $(
            #[async_trait]
            impl $service for Remote {
                $(
                    async fn $method(&self, request: Request<$request>) -> Answer<$reply> {
                        let mut client = $module::$client::new(self.0.clone());
                        self.0.within(pin!(client.$method(request))).await
                    }
                )*
            }
        )*
    };
}

use attractions::attractions_client;
use geo::geo_client;
use profile::profile_client;
use rate::rate_client;
use recommendation::recommendation_client;
use reservation::reservation_client;
use review::review_client;
use search::search_client;
use store::store_client;
use user::user_client;

remote! {
    Search by search_client::SearchClient {
        nearby(search::NearbyRequest) -> search::NearbyReply;
    }
    Geo by geo_client::GeoClient {
        nearby(geo::NearbyRequest) -> geo::NearbyReply;
    }
    Rate by rate_client::RateClient {
        get_rates(rate::GetRatesRequest) -> rate::GetRatesReply;
    }
    Profile by profile_client::ProfileClient {
        get_profiles(profile::GetProfilesRequest) -> profile::GetProfilesReply;
    }
    Recommendation by recommendation_client::RecommendationClient {
        get_recommendations(recommendation::GetRecommendationsRequest)
            -> recommendation::GetRecommendationsReply;
    }
    User by user_client::UserClient {
        check_user(user::CheckUserRequest) -> user::CheckUserReply;
    }
    Reservation by reservation_client::ReservationClient {
        check_availability(reservation::ReservationRequest) -> reservation::ReservationReply;
        make_reservation(reservation::ReservationRequest) -> reservation::ReservationReply;
    }
    Review by review_client::ReviewClient {
        get_reviews(review::ReviewRequest) -> review::ReviewReply;
    }
    Attractions by attractions_client::AttractionsClient {
        nearby_rest(attractions::Request) -> attractions::Result;
        nearby_mus(attractions::Request) -> attractions::Result;
        nearby_cinema(attractions::Request) -> attractions::Result;
    }
    Store by store_client::StoreClient {
        places(store::Nothing) -> store::PlacesReply;
        candidates(store::Nothing) -> store::CandidatesReply;
        attractions(store::Nothing) -> store::AttractionsReply;
        rate_plans(store::Hotels) -> store::RatePlansReply;
        profiles(store::Hotels) -> store::ProfilesReply;
        reviews(store::Hotels) -> store::ReviewsReply;
        password_digest(store::PasswordDigestRequest) -> store::PasswordDigestReply;
        has_rooms(store::HasRoomsRequest) -> store::HasRoomsReply;
        reserve(store::Booking) -> store::Reserved;
        counts(store::Nothing) -> store::CountsReply;
        reset(store::Nothing) -> store::CountsReply;
    }
}
