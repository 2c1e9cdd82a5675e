//! What harn reads of a repository, held against git's own words.

mod differs;
mod fixture;
mod reading;
