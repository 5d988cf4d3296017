//! The text service: finds the mentions and the URLs of a text, and replaces each URL by a short
//! one.

use std::ops::Range;
use std::sync::{Arc, LazyLock};

use clap::Args;
use regex::Regex;
use tonic::{Request, Response, Status, async_trait};

use super::api;
use super::api::post::Url;
use super::api::text::{TextReply, TextRequest};
use super::api::url_shorten::UrlsRequest;
use super::api::user_mention::MentionsRequest;
use super::bounds::{LARGEST_POST, MOST_PARTS};
use super::called::Called;
use super::metrics::Metrics;
use super::{Process, Service};
use crate::kit::arguments::Common;
use crate::kit::process;
use crate::kit::rpc::Addresses;

#[cfg(test)]
mod tests;

#[derive(Args)]
pub struct Arguments {
    #[arg(long, value_name = "ADDRESSES")]
    url_shorten: Addresses,

    #[arg(long, value_name = "ADDRESSES")]
    user_mention: Addresses,

    #[command(flatten)]
    tail: Tail,

    #[command(flatten)]
    common: Common,
}

/// The treatment of what follows the last URL.
#[derive(Args, Clone, Copy, Debug)]
pub struct Tail {
    /// Loses the text after the last URL of a post, as the original does. Texts of its workloads end
    /// with URLs or have none, so this changes nothing for them.
    #[arg(long)]
    pub lose_tail: bool,
}

pub struct Text {
    url_shorten: Arc<dyn api::url_shorten::UrlShorten>,
    user_mention: Arc<dyn api::user_mention::UserMention>,
    tail: Tail,
    metrics: Arc<Metrics>,
}

/// Runs a process of the service until a signal ends it.
pub fn run(arguments: Arguments) -> anyhow::Result<()> {
    let Arguments { url_shorten, user_mention, tail, common } = arguments;
    process::run(common, async |process: &Process| {
        let mut called = Called::by(process);
        let url_shorten = called.to("url-shorten", &url_shorten).await?;
        let user_mention = called.to("user-mention", &user_mention).await?;
        let text = Text::new(url_shorten, user_mention, tail, Arc::clone(&process.metrics));
        Ok(process.page(Service::Text, api::text::answering(Arc::new(text)), called.health()))
    })
}

impl Text {
    pub fn new(
        url_shorten: Arc<dyn api::url_shorten::UrlShorten>,
        user_mention: Arc<dyn api::user_mention::UserMention>,
        tail: Tail,
        metrics: Arc<Metrics>,
    ) -> Self {
        Text { url_shorten, user_mention, tail, metrics }
    }
}

#[async_trait]
impl api::text::Text for Text {
    async fn compose(&self, request: Request<TextRequest>) -> Result<Response<TextReply>, Status> {
        self.metrics.called(Service::Text);
        let TextRequest { text } = request.into_inner();
        if LARGEST_POST < text.len() {
            let text = format!("a post has at most {LARGEST_POST} bytes");
            return Err(Status::invalid_argument(text));
        }
        let places = urls(&text);
        let usernames = mentions(&text);
        if MOST_PARTS < places.len().max(usernames.len()) {
            let text = format!("a post has at most {MOST_PARTS} mentions, and as many URLs");
            return Err(Status::invalid_argument(text));
        }
        let urls = places.iter().map(|place| text[place.clone()].to_owned()).collect();
        let shortened = self.url_shorten.compose(Request::new(UrlsRequest { urls }));
        let mentioned = self.user_mention.compose(Request::new(MentionsRequest { usernames }));
        let (shortened, mentioned) = tokio::try_join!(shortened, mentioned)?;
        let urls = shortened.into_inner().urls;
        Ok(Response::new(TextReply {
            text: replaced(&text, &places, &urls, self.tail),
            user_mentions: mentioned.into_inner().user_mentions,
            urls,
        }))
    }
}

/// Returns the places of the URLs in a text. A URL ends before its path, as in the original.
fn urls(text: &str) -> Vec<Range<usize>> {
    static URL: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"https?://[a-zA-Z0-9_!~*'().&=+$%-]+").expect("it is valid"));
    URL.find_iter(text).map(|url| url.range()).collect()
}

/// Returns the names that a text mentions.
fn mentions(text: &str) -> Vec<String> {
    static MENTION: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"@[a-zA-Z0-9_-]+").expect("it is valid"));
    MENTION.find_iter(text).map(|mention| mention.as_str()[1..].to_owned()).collect()
}

fn replaced(text: &str, places: &[Range<usize>], urls: &[Url], tail: Tail) -> String {
    let mut replaced = String::with_capacity(text.len());
    let mut end = 0;
    for (place, url) in places.iter().zip(urls) {
        replaced.push_str(&text[end..place.start]);
        replaced.push_str(&url.shortened_url);
        end = place.end;
    }
    if places.is_empty() || !tail.lose_tail {
        replaced.push_str(&text[end..]);
    }
    replaced
}
