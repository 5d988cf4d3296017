//! Posts in memcached, before their store, as the original has them: one request for all posts of a
//! page, and those that are missing come from the store and are added.
//!
//! A post never changes, so nothing here can be out of date. The cache may forget anything at any
//! time; one that fails costs its callers a miss.

use std::sync::Arc;

use bytes::Bytes;
use tonic::{Request, Response, Status, async_trait};

use super::Process;
use super::api::common::Ids;
use super::api::stored::posts::{PostDocument, PostDocuments, Posts, PutReply};
use super::command::PostCache;
use super::metrics::Metrics;
use crate::kit::memcached::{Lookup, Memcached};

pub struct CachedPosts {
    cache: Memcached,
    store: Arc<dyn Posts>,
    metrics: Arc<Metrics>,
}

/// Returns the posts of a store, behind a cache if there is one.
pub fn behind(cache: &PostCache, store: Arc<dyn Posts>, process: &Process) -> Arc<dyn Posts> {
    let Some(servers) = &cache.servers else { return store };
    let cache = Memcached::new(servers, cache.timeout, Arc::clone(&process.statistics));
    Arc::new(CachedPosts { cache, store, metrics: Arc::clone(&process.metrics) })
}

impl CachedPosts {
    /// Returns what the cache has; a failed request is a miss.
    async fn cached(&self, keys: &[Option<String>]) -> Vec<Option<Bytes>> {
        let found = self.cache.get(keys).await.into_iter().map(|answer| match answer {
            Ok(found) => {
                let outcome = if found.is_some() { Lookup::Hit } else { Lookup::Miss };
                self.metrics.looked_up(outcome);
                found.map(Bytes::from)
            }
            Err(_) => {
                self.metrics.looked_up(Lookup::Error);
                None
            }
        });
        found.collect()
    }
}

#[async_trait]
impl Posts for CachedPosts {
    async fn put(&self, request: Request<PostDocument>) -> Result<Response<PutReply>, Status> {
        self.store.put(request).await
    }

    async fn get(&self, request: Request<Ids>) -> Result<Response<PostDocuments>, Status> {
        let Ids { ids } = request.into_inner();
        let keys: Vec<_> = ids.iter().map(|id| self.cache.key("post", &id.to_string())).collect();
        let mut posts = self.cached(&keys).await;
        let lacking = ids.iter().zip(&posts).filter(|(_, post)| post.is_none());
        let lacking: Vec<i64> = lacking.map(|(id, _)| *id).collect();
        if !lacking.is_empty() {
            let stored = self.store.get(Request::new(Ids { ids: lacking })).await?.into_inner();
            let places = posts.iter_mut().zip(&keys).filter(|(post, _)| post.is_none());
            for ((post, key), json) in places.zip(stored.json) {
                // An unknown post may be there later.
                if !json.is_empty() {
                    self.cache.set(key.as_deref(), json.to_vec());
                }
                *post = Some(json);
            }
        }
        Ok(Response::new(PostDocuments { json: posts.into_iter().flatten().collect() }))
    }
}
