//! harn with the real client.
