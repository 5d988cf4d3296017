//! Documents that never change, by hotel: all of them in memory, or in memcached after their first
//! use.
//!
//! Reservations and users change or may change: they are requested from the store each time, so the
//! original's memcached-reserve has no counterpart here.

use std::collections::HashMap;
use std::sync::Arc;

use prost::Message;
use tonic::{Request, Status, async_trait};

use super::Process;
use super::api;
use super::api::profile::Hotel;
use super::api::rate::RatePlan;
use super::api::review::ReviewReply;
use super::api::store::Hotels;
use super::command::Cache;
use super::metrics::Metrics;
use super::postgres::Use;
use super::source::{self, loaded};
use crate::kit::health::Health;
use crate::kit::memcached::{Lookup, Memcached};
use crate::kit::source::Source;

/// One document for each hotel that has one.
pub enum Documents<T> {
    InMemory(HashMap<String, T>),
    Cached(Cached),
}

/// The store behind a cache that may forget anything at any time.
pub struct Cached {
    pub cache: Memcached,
    pub store: Arc<dyn api::store::Store>,
    pub metrics: Arc<Metrics>,
}

/// A kind of document about a hotel.
#[async_trait]
pub trait Document: Message + Default + Clone {
    /// The part of its cache keys that distinguishes them from those of other kinds.
    const KIND: &'static str;

    /// Loads the documents of these hotels; an empty list loads all.
    async fn load(store: &dyn api::store::Store, hotels: Hotels) -> Result<Loaded<Self>, Status>;
}

type Loaded<T> = HashMap<String, T>;

impl<T: Document> Documents<T> {
    /// Loads all of them, or begins to connect to their cache; returns them with the health of the
    /// store behind them.
    pub async fn connect(
        process: &Process,
        store: &Source,
        cache: &Cache,
    ) -> anyhow::Result<(Self, Health)> {
        let (store, health) = source::connect(store, process, Use::Reads).await?;
        let documents = match &cache.servers {
            None => loaded(Documents::in_memory(&*store).await)?,
            Some(servers) => {
                let statistics = Arc::clone(&process.statistics);
                let cache = Memcached::new(servers, cache.timeout, statistics);
                let metrics = Arc::clone(&process.metrics);
                Documents::Cached(Cached { cache, store, metrics })
            }
        };
        Ok((documents, health))
    }

    /// Loads all of them.
    pub async fn in_memory(store: &dyn api::store::Store) -> Result<Self, Status> {
        T::load(store, Hotels::default()).await.map(Documents::InMemory)
    }

    /// Returns the documents of these hotels, in the given order.
    pub async fn of(&self, hotels: Vec<String>) -> Result<Vec<T>, Status> {
        match self {
            Documents::InMemory(all) => {
                Ok(hotels.iter().filter_map(|hotel| all.get(hotel).cloned()).collect())
            }
            Documents::Cached(cached) => cached.of(hotels).await,
        }
    }
}

impl Cached {
    /// Requests all of them from the cache, then the missing ones from the store, and adds these to
    /// the cache. A hotel without a document is cached as well: as an empty document, which no
    /// other document is.
    async fn of<T: Document>(&self, hotels: Vec<String>) -> Result<Vec<T>, Status> {
        let keys: Vec<_> = hotels.iter().map(|hotel| self.cache.key(T::KIND, hotel)).collect();
        let mut documents: Vec<Option<T>> = self.cached(&keys).await;
        let lacking = || hotels.iter().zip(&documents).filter(|(_, found)| found.is_none());
        let mut hotel_ids: Vec<_> = lacking().map(|(hotel, _)| hotel.clone()).collect();
        hotel_ids.sort_unstable();
        hotel_ids.dedup();
        if !hotel_ids.is_empty() {
            let loaded = T::load(&*self.store, Hotels { hotel_ids }).await?;
            for ((hotel, key), document) in hotels.iter().zip(&keys).zip(&mut documents) {
                if document.is_none() {
                    let found = loaded.get(hotel).cloned().unwrap_or_default();
                    self.cache.set(key.as_deref(), found.encode_to_vec());
                    *document = Some(found);
                }
            }
        }
        let found = documents.into_iter().flatten();
        Ok(found.filter(|document| 0 < document.encoded_len()).collect())
    }

    /// Returns what the cache has. A failed request counts as a miss.
    async fn cached<T: Document>(&self, keys: &[Option<String>]) -> Vec<Option<T>> {
        let asked = self.cache.get(keys).await;
        let (mut hits, mut errors) = (0, 0);
        let documents = asked.into_iter().map(|answer| match answer {
            Ok(bytes) => {
                let document = bytes.and_then(|bytes| T::decode(bytes.as_slice()).ok());
                hits += usize::from(document.is_some());
                document
            }
            Err(_) => {
                errors += 1;
                None
            }
        });
        let documents: Vec<_> = documents.collect();
        self.metrics.looked_up(Lookup::Hit, hits);
        self.metrics.looked_up(Lookup::Error, errors);
        self.metrics.looked_up(Lookup::Miss, documents.len() - hits - errors);
        documents
    }
}

#[async_trait]
impl Document for RatePlan {
    const KIND: &'static str = "rate";

    async fn load(store: &dyn api::store::Store, hotels: Hotels) -> Result<Loaded<Self>, Status> {
        let plans = store.rate_plans(Request::new(hotels)).await?.into_inner().rate_plans;
        Ok(plans.into_iter().map(|plan| (plan.hotel_id.clone(), plan)).collect())
    }
}

#[async_trait]
impl Document for Hotel {
    const KIND: &'static str = "profile";

    async fn load(store: &dyn api::store::Store, hotels: Hotels) -> Result<Loaded<Self>, Status> {
        let hotels = store.profiles(Request::new(hotels)).await?.into_inner().hotels;
        Ok(hotels.into_iter().map(|hotel| (hotel.id.clone(), hotel)).collect())
    }
}

/// A hotel's reviews, which are one document.
#[async_trait]
impl Document for ReviewReply {
    const KIND: &'static str = "review";

    async fn load(store: &dyn api::store::Store, hotels: Hotels) -> Result<Loaded<Self>, Status> {
        let reviews = store.reviews(Request::new(hotels)).await?.into_inner().reviews;
        let mut by_hotel: Loaded<Self> = HashMap::new();
        for review in reviews {
            by_hotel.entry(review.hotel_id.clone()).or_default().reviews.push(review);
        }
        Ok(by_hotel)
    }
}
