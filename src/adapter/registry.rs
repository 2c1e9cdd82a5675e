//! The manifests that are compiled in, as JSON.
//!
//! Definitions never come from the directory an agent works in. A hook parses its own manifest and no other.

use super::manifest::Manifest;

/// The text of a manifest as the build script leaves it.
macro_rules! manifests {
    ($($id:literal),*) => {
        [$(($id, include_str!(concat!(env!("OUT_DIR"), "/", $id, ".json")))),*]
    };
}

/// Id and text of each manifest.
const MANIFESTS: [(&str, &str); 5] =
    manifests!["claude-code", "codex", "demo", "cursor", "generic"];

/// Why a manifest could not be had.
#[derive(Debug, thiserror::Error)]
pub enum RegistryError {
    #[error("there is no adapter {0:?}")]
    Unknown(String),
    #[error("the manifest of adapter {id:?} is damaged: {source}")]
    Damaged {
        id: String,
        source: serde_json::Error,
    },
}

/// The ids of all adapters.
pub fn ids() -> impl Iterator<Item = &'static str> {
    MANIFESTS.iter().map(|(id, _)| *id)
}

/// One manifest by its id.
pub fn load(id: &str) -> Result<Manifest, RegistryError> {
    let (_, text) = MANIFESTS
        .iter()
        .find(|(known, _)| *known == id)
        .ok_or_else(|| RegistryError::Unknown(id.to_owned()))?;
    serde_json::from_str(text).map_err(|source| RegistryError::Damaged {
        id: id.to_owned(),
        source,
    })
}

/// The adapter whose harness this program name starts.
pub fn for_program(name: &str) -> Option<Manifest> {
    // Parsing is most of a start's own work, and most programs are nobody's: only a manifest that has the word is read.
    let quoted = format!("\"{name}\"");
    MANIFESTS
        .iter()
        .filter(|(_, text)| text.contains(&quoted))
        .filter_map(|(id, _)| load(id).ok())
        .find(|manifest| manifest.programs.iter().any(|program| program == name))
}

/// All manifests; a damaged one is left out (a test keeps them whole).
pub fn all() -> impl Iterator<Item = Manifest> {
    ids().filter_map(|id| load(id).ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::SCHEMA;

    #[test]
    fn every_manifest_parses_and_is_named_after_its_folder() {
        for id in ids() {
            let manifest = load(id).unwrap();
            assert_eq!((manifest.id.as_str(), manifest.schema), (id, SCHEMA));
            assert!(!manifest.name.is_empty());
            assert_eq!(manifest.programs.is_empty(), manifest.events.is_empty());
        }
    }

    #[test]
    fn a_program_is_found_by_each_of_its_names_and_by_no_other() {
        for manifest in all() {
            for program in &manifest.programs {
                assert_eq!(for_program(program).unwrap().id, manifest.id);
            }
        }
        assert!(for_program("bash").is_none());
    }

    #[test]
    fn the_built_in_harness_is_verified_on_this_very_version() {
        let builtin = all().find(|manifest| manifest.launch.builtin.is_some());
        let verified = builtin.unwrap().verified.unwrap();
        assert_eq!(verified.version, env!("CARGO_PKG_VERSION"));
    }
}
