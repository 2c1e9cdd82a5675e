//! The files that the client's patch tool changes, from the patch itself.
//!
//! Pure. Paths in a patch are as seen from the session's directory.

const BEGIN: &str = "*** Begin Patch";
const HEADS: [&str; 4] = [
    "*** Add File: ",
    "*** Update File: ",
    "*** Delete File: ",
    "*** Move to: ",
];

/// The paths that a patch names, each once, in its order; none for a text that is no patch.
pub fn patched_paths(text: &str) -> Vec<String> {
    let mut paths: Vec<String> = Vec::new();
    let text = text.trim_start();
    if !text.starts_with(BEGIN) {
        return paths;
    }
    for line in text.lines() {
        let named = HEADS.iter().find_map(|head| line.strip_prefix(head));
        let path = named.map(str::trim).filter(|path| !path.is_empty());
        if let Some(path) = path
            && !paths.iter().any(|known| known == path)
        {
            paths.push(path.to_owned());
        }
    }
    paths
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_names_each_file_once_and_its_content_names_none() {
        let patch = "*** Begin Patch\n*** Update File: src/a b.rs\n*** Move to: src/c.rs\n@@\n-*** Add File: x\n\
            +y\n*** Add File: /abs\n+*** Delete File: z\n*** Delete File: old\n*** Update File: /abs\n*** End Patch\n";
        assert_eq!(
            patched_paths(patch),
            ["src/a b.rs", "src/c.rs", "/abs", "old"]
        );
        assert_eq!(
            patched_paths("cat <<E\n*** Add File: x\nE"),
            [""; 0].map(String::from)
        );
    }
}
