//! All services of the application in one process: each call is a function call.

use std::sync::Arc;

use super::api;
use super::attractions::Attractions;
use super::command::StoreArguments;
use super::documents::Documents;
use super::frontend::Frontend;
use super::geo::Geo;
use super::metrics::Metrics;
use super::profile::Profile;
use super::rate::Rate;
use super::recommendation::Recommendation;
use super::reservation::Reservation;
use super::review::Review;
use super::search::Search;
use super::source::loaded;
use super::store::Embedded;
use super::user::User;
use super::{Process, Service};
use crate::kit::folder::Folder;
use crate::kit::health::Health;
use crate::kit::process;
use crate::kit::services::Service as _;

/// Runs the process until a signal ends it.
pub fn run(arguments: StoreArguments) -> anyhow::Result<()> {
    let durability = arguments.durability();
    // It is removed when nothing writes into it any more.
    let folder = Folder::choose(Service::APPLICATION, arguments.data)?;
    process::run(arguments.common, async |process: &Process| {
        let store = Arc::new(Embedded::open(folder.path(), durability)?);
        let health = Health::of_part(Arc::clone(&store) as _);
        assemble(store, health, Arc::clone(&process.metrics)).await
    })
}

/// Returns the frontend over all services.
pub async fn assemble(
    store: Arc<Embedded>,
    health: Health,
    metrics: Arc<Metrics>,
) -> anyhow::Result<Frontend> {
    let metrics = || Arc::clone(&metrics);
    let store: Arc<dyn api::store::Store> = store;
    let geo = Arc::new(Geo::load(&*store, metrics()).await?);
    let rates = loaded(Documents::in_memory(&*store).await)?;
    let rate = Arc::new(Rate::new(rates, metrics()));
    let profiles = loaded(Documents::in_memory(&*store).await)?;
    let reviews = loaded(Documents::in_memory(&*store).await)?;
    Ok(Frontend {
        search: Arc::new(Search::new(geo, rate, metrics())),
        profile: Arc::new(Profile::new(profiles, metrics())),
        recommendation: Arc::new(Recommendation::load(&*store, metrics()).await?),
        user: Arc::new(User::new(Arc::clone(&store), metrics())),
        reservation: Arc::new(Reservation::new(Arc::clone(&store), metrics())),
        review: Some(Arc::new(Review::new(reviews, metrics()))),
        attractions: Some(Arc::new(Attractions::load(&*store, metrics()).await?)),
        store,
        health,
        metrics: metrics(),
    })
}
