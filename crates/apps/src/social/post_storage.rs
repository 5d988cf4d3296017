//! The post-storage service: posts by their numbers. It renders a post once, when it is stored; a
//! page is a concatenation.

use std::sync::Arc;

use bytes::{BufMut, Bytes, BytesMut};
use clap::Args;
use tonic::{Request, Response, Status, async_trait};

use super::api::common::{Ids, Nothing, Page};
use super::api::post::Post;
use super::api::post_storage as api;
use super::api::stored::posts::{PostDocument, Posts};
use super::bounds::LARGEST_POST;
use super::called::Called;
use super::command::{PostCache, Stored};
use super::metrics::Metrics;
use super::postgres::Use;
use super::{Process, Service, cached_posts, rendering};
use crate::kit::process;

#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    cache: PostCache,

    #[command(flatten)]
    stored: Stored,
}

pub struct PostStorage {
    store: Arc<dyn Posts>,
    metrics: Arc<Metrics>,
}

/// Runs a process of the service until a signal ends it.
pub fn run(Arguments { cache, stored }: Arguments) -> anyhow::Result<()> {
    let Stored { documents, common } = stored;
    process::run(common, async |process: &Process| {
        let mut called = Called::by(process);
        let store = called.documents(&documents, Use::Writes).await?;
        let store = cached_posts::behind(&cache, store, process);
        let service = Arc::new(PostStorage::new(store, Arc::clone(&process.metrics)));
        Ok(process.page(Service::PostStorage, api::answering(service), called.health()))
    })
}

impl PostStorage {
    pub fn new(store: Arc<dyn Posts>, metrics: Arc<Metrics>) -> Self {
        PostStorage { store, metrics }
    }
}

#[async_trait]
impl api::PostStorage for PostStorage {
    async fn store(&self, request: Request<Post>) -> Result<Response<Nothing>, Status> {
        self.metrics.called(Service::PostStorage);
        let post = request.into_inner();
        let json = rendering::post(&post);
        if LARGEST_POST < json.len() {
            let length = json.len();
            return Err(Status::invalid_argument(format!(
                "a post has at most {LARGEST_POST} bytes as JSON, not {length}"
            )));
        }
        let document = PostDocument { post_id: post.post_id, json: json.into() };
        match self.store.put(Request::new(document)).await?.into_inner().made {
            true => Ok(Response::new(Nothing {})),
            false => Err(Status::already_exists(format!("Post {} already existed", post.post_id))),
        }
    }

    async fn read(&self, request: Request<Ids>) -> Result<Response<Page>, Status> {
        self.metrics.called(Service::PostStorage);
        let ids = request.into_inner();
        if has_duplicates(&ids.ids) {
            return Err(Status::invalid_argument("Post_ids are duplicated"));
        }
        let posts = self.store.get(Request::new(ids)).await?.into_inner().json;
        if posts.iter().any(Bytes::is_empty) {
            return Err(Status::not_found("Return set incomplete"));
        }
        Ok(Response::new(Page { posts: posts.len() as u32, json: list(&posts) }))
    }
}

fn has_duplicates(ids: &[i64]) -> bool {
    let mut ids = ids.to_vec();
    ids.sort_unstable();
    ids.windows(2).any(|pair| pair[0] == pair[1])
}

/// Returns a JSON list of documents.
fn list(documents: &[Bytes]) -> Bytes {
    if documents.is_empty() {
        return Bytes::from_static(rendering::EMPTY.as_bytes());
    }
    let length: usize = documents.iter().map(|document| 1 + document.len()).sum();
    let mut list = BytesMut::with_capacity(1 + length);
    for (place, document) in documents.iter().enumerate() {
        list.put_u8(if place == 0 { b'[' } else { b',' });
        list.put_slice(document);
    }
    list.put_u8(b']');
    list.freeze()
}
