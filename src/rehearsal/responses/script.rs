//! What the model is to do: data that a test or the bench sets, before and between requests.

use std::collections::VecDeque;
use std::time::Duration;

use super::Reply;

#[derive(Debug, Clone)]
pub struct Script {
    /// Input tokens reported; `None` estimates from the request's size.
    pub usage_tokens: Option<u64>,
    /// Share of the above that is reported as read from the cache.
    pub cached_tokens: u64,
    pub output_tokens: u64,
    pub summary: Summary,
    /// Answers to the next conversation requests, ahead of any directive.
    pub replies: VecDeque<Reply>,
    /// Answer to side requests.
    pub side: String,
}

/// The answer to a compaction's request.
#[derive(Debug, Clone)]
pub struct Summary {
    /// Of a local compaction; a remote one gets an opaque item instead.
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
            cached_tokens: 0,
            output_tokens: 20,
            summary: Summary::default(),
            replies: VecDeque::new(),
            side: "Rehearsal".to_owned(),
        }
    }
}

impl Default for Summary {
    fn default() -> Self {
        Self {
            text: "REHEARSED-SUMMARY: the work goes on.".to_owned(),
            delay: Duration::ZERO,
            status: None,
            usage_after_tokens: Some(4000),
        }
    }
}
