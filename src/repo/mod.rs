//! The one user of gix: reads a repository into a [`crate::continuity::RepoState`].
