//! Turns the manifests in `adapters/` into JSON: a hook reads its own at every call, and that takes a fifth of the time.

use std::error::Error;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

const FOLDER: &str = "adapters";

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed={FOLDER}");
    let out = PathBuf::from(std::env::var_os("OUT_DIR").ok_or("cargo names no OUT_DIR")?);
    for entry in fs::read_dir(FOLDER)? {
        let path = entry?.path().join("adapter.toml");
        if path.is_file() {
            convert(&path, &out).map_err(|error| format!("{}: {error}", path.display()))?;
        }
    }
    Ok(())
}

fn convert(path: &Path, out: &Path) -> Result<(), Box<dyn Error>> {
    let table: toml::Table = fs::read_to_string(path)?.parse()?;
    let id = table.get("id").and_then(toml::Value::as_str);
    let id = id.ok_or("the manifest has no id")?;
    let file = File::create(out.join(format!("{id}.json")))?;
    Ok(serde_json::to_writer(file, &table)?)
}
