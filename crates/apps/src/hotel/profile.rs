//! The profile service: the descriptions of hotels. Profiles never change, so it keeps them in
//! memory, or in memcached.

use std::sync::Arc;

use tonic::{Request, Response, Status, async_trait};

use super::api;
use super::api::profile::{GetProfilesReply, GetProfilesRequest, Hotel};
use super::command::{Cacheable, Stateless};
use super::documents::Documents;
use super::metrics::Metrics;
use super::{Process, Service};
use crate::kit::process;

pub struct Profile {
    hotels: Documents<Hotel>,
    metrics: Arc<Metrics>,
}

/// Runs a process of the service until a signal ends it.
pub fn run(arguments: Cacheable) -> anyhow::Result<()> {
    let Cacheable { stateless: Stateless { store, common }, cache } = arguments;
    process::run(common, async |process: &Process| {
        let (documents, health) = Documents::connect(process, &store, &cache).await?;
        let profile = Profile::new(documents, Arc::clone(&process.metrics));
        Ok(process.page(Service::Profile, api::profile::answering(Arc::new(profile)), health))
    })
}

impl Profile {
    pub fn new(hotels: Documents<Hotel>, metrics: Arc<Metrics>) -> Self {
        Profile { hotels, metrics }
    }
}

#[async_trait]
impl api::profile::Profile for Profile {
    /// Returns the profiles of the known hotels, in the order of the request.
    async fn get_profiles(
        &self,
        request: Request<GetProfilesRequest>,
    ) -> Result<Response<GetProfilesReply>, Status> {
        self.metrics.called(Service::Profile);
        let hotels = self.hotels.of(request.into_inner().hotel_ids).await?;
        Ok(Response::new(GetProfilesReply { hotels }))
    }
}
