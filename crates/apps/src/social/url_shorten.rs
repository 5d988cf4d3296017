//! The url-shorten service: short names for URLs.

use std::sync::Arc;

use tonic::{Request, Response, Status, async_trait};

use super::api::post::Url;
use super::api::stored::urls::{UrlDocuments, Urls};
use super::api::url_shorten::{self as api, UrlsReply, UrlsRequest};
use super::called::Called;
use super::command::Stored;
use super::metrics::Metrics;
use super::postgres::Use;
use super::{Process, Service, random};
use crate::kit::process;

const BEGINNING: &str = "http://short-url/";
const LENGTH: usize = 10;

pub struct UrlShorten {
    store: Arc<dyn Urls>,
    metrics: Arc<Metrics>,
}

/// Runs a process of the service until a signal ends it.
pub fn run(Stored { documents, common }: Stored) -> anyhow::Result<()> {
    process::run(common, async |process: &Process| {
        let mut called = Called::by(process);
        let store = called.documents(&documents, Use::Writes).await?;
        let service = Arc::new(UrlShorten::new(store, Arc::clone(&process.metrics)));
        Ok(process.page(Service::UrlShorten, api::answering(service), called.health()))
    })
}

impl UrlShorten {
    pub fn new(store: Arc<dyn Urls>, metrics: Arc<Metrics>) -> Self {
        UrlShorten { store, metrics }
    }
}

#[async_trait]
impl api::UrlShorten for UrlShorten {
    async fn compose(&self, request: Request<UrlsRequest>) -> Result<Response<UrlsReply>, Status> {
        self.metrics.called(Service::UrlShorten);
        let shortened = |expanded_url| {
            let shortened_url = format!("{BEGINNING}{}", random::alphanumeric(LENGTH)?);
            Ok(Url { shortened_url, expanded_url })
        };
        let urls: Result<Vec<Url>, Status> =
            request.into_inner().urls.into_iter().map(shortened).collect();
        let urls = urls?;
        if !urls.is_empty() {
            self.store.put(Request::new(UrlDocuments { urls: urls.clone() })).await?;
        }
        Ok(Response::new(UrlsReply { urls }))
    }
}
