//! Masks what looks like a credential before it is stored or shown.
//!
//! Pure. Known token shapes only: a commit id or a checksum must come through, and a save is never refused. A shape
//! that is not listed here is not recognised; the docs say so.

/// What stands in a secret's place.
const MASK: &str = "[masked]";

/// Prefixes of issued tokens with the least number of characters that follow one.
const PREFIXES: [(&str, usize); 22] = [
    ("ghp_", 30),
    ("gho_", 30),
    ("ghu_", 30),
    ("ghs_", 30),
    ("ghr_", 30),
    ("github_pat_", 30),
    ("glpat-", 16),
    ("sk-ant-", 16),
    ("sk-proj-", 16),
    ("sk_live_", 16),
    ("sk_test_", 16),
    ("rk_live_", 16),
    ("sk-", 32),
    ("xoxb-", 16),
    ("xoxp-", 16),
    ("xoxa-", 16),
    ("xapp-", 16),
    ("AIza", 30),
    ("npm_", 30),
    ("hf_", 30),
    ("AKIA", 16),
    ("ASIA", 16),
];

const KEY_BEGIN: &str = "-----BEGIN ";
const KEY_END: &str = "-----END ";

/// `text` with each credential replaced by `[masked]`.
pub fn mask(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut in_key = false;
    for line in text.split_inclusive('\n') {
        if in_key {
            in_key = !line.contains(KEY_END);
            continue;
        }
        match line
            .find(KEY_BEGIN)
            .filter(|_| line.contains("PRIVATE KEY"))
        {
            Some(at) => {
                out.push_str(line.get(..at).unwrap_or_default());
                out.push_str(MASK);
                out.push('\n');
                in_key = !line.contains(KEY_END);
            }
            None => mask_line(line, &mut out),
        }
    }
    out
}

fn mask_line(line: &str, out: &mut String) {
    let is_token = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let mut rest = line;
    while let Some(start) = rest.find(is_token) {
        let (before, from) = rest.split_at(start);
        let end = from.find(|c| !is_token(c)).unwrap_or(from.len());
        let (token, after) = from.split_at(end);
        out.push_str(before);
        out.push_str(if is_secret(token) { MASK } else { token });
        rest = after;
    }
    out.push_str(rest);
}

fn is_secret(token: &str) -> bool {
    let issued = PREFIXES.iter().any(|(prefix, least)| {
        token
            .strip_prefix(prefix)
            .is_some_and(|tail| tail.len() >= *least)
    });
    issued || is_json_web_token(token)
}

fn is_json_web_token(token: &str) -> bool {
    let mut parts = token.split('.');
    let [Some(head), Some(body), Some(signature), None] =
        [parts.next(), parts.next(), parts.next(), parts.next()]
    else {
        return false;
    };
    head.starts_with("eyJ") && body.starts_with("eyJ") && signature.len() >= 16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_keys_and_pem_blocks_are_masked_and_a_commit_id_is_kept() {
        let commit = "0123456789abcdef0123456789abcdef01234567";
        let ghp = format!("ghp_{}", "a1B2".repeat(9));
        let text = format!(
            "use {ghp}, AKIAIOSFODNN7EXAMPLE at {commit}.\n-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----\nend sk-learn ünï"
        );
        assert_eq!(
            mask(&text),
            format!("use [masked], [masked] at {commit}.\n[masked]\nend sk-learn ünï")
        );
    }

    #[test]
    fn a_json_web_token_is_masked_and_a_dotted_name_is_not() {
        let token = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.dozjgNryP4J3jVmNHl0w5N";
        assert_eq!(mask(&format!("Bearer {token}")), "Bearer [masked]");
        assert_eq!(
            mask("crate.module.function_name_long"),
            "crate.module.function_name_long"
        );
    }
}
