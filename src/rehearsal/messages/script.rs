//! What the model is to do: data that a test or the bench sets, before and between requests.

use std::collections::VecDeque;
use std::time::Duration;

use super::Reply;

#[derive(Debug, Clone)]
pub struct Script {
    /// Input tokens reported, cached ones included; `None` estimates from the request's size.
    pub usage_tokens: Option<u64>,
    /// Shares of the above that are reported as read from, and written to, the cache.
    pub cache_read_tokens: u64,
    pub cache_creation_tokens: u64,
    pub output_tokens: u64,
    /// A conversation above it is refused as too long, as the real API does.
    pub context_limit_tokens: Option<u64>,
    pub summary: Summary,
    /// Answers to the next conversation requests, ahead of any directive.
    pub replies: VecDeque<Reply>,
    /// Answer to side requests.
    pub side: String,
}

/// The answer to a compaction's request.
#[derive(Debug, Clone)]
pub struct Summary {
    pub text: String,
    pub delay: Duration,
    /// Refuse with this status, every time.
    pub status: Option<u16>,
    /// What `usage_tokens` falls to after it.
    pub usage_after_tokens: Option<u64>,
}

impl Default for Script {
    fn default() -> Self {
        Self {
            usage_tokens: None,
            cache_read_tokens: 0,
            cache_creation_tokens: 0,
            output_tokens: 20,
            context_limit_tokens: None,
            summary: Summary::default(),
            replies: VecDeque::new(),
            side: r#"{"title": "Rehearsal", "isNewTopic": false}"#.to_owned(),
        }
    }
}

impl Default for Summary {
    fn default() -> Self {
        Self {
            text: "<analysis>rehearsed</analysis>\n<summary>REHEARSED-SUMMARY: the work goes on.</summary>"
                .to_owned(),
            delay: Duration::ZERO,
            status: None,
            usage_after_tokens: Some(4000),
        }
    }
}
