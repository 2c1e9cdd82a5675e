//! Whether a briefing reached the model, from the harness's own record.
//!
//! Pure. Printed is not delivered: only the tag in the transcript proves that the harness took the text, and only a reply of the
//! model behind the place where it should stand proves that it did not.

use serde::Deserialize;

use crate::continuity::signal::Delivery;

/// Looks at the part of a transcript that was written since the briefing was printed.
pub fn examine(since: &[u8], tag: &str) -> Option<Delivery> {
    if memchr::memmem::find(since, tag.as_bytes()).is_some() {
        return Some(Delivery::Delivered);
    }
    let replied = since
        .split_inclusive(|byte| *byte == b'\n')
        .filter(|line| line.ends_with(b"\n"))
        .any(is_reply);
    replied.then_some(Delivery::Absent)
}

#[derive(Deserialize)]
struct LineWire {
    #[serde(rename = "type")]
    kind: Option<String>,
    #[serde(default, rename = "isSidechain")]
    is_sidechain: bool,
    payload: Option<PayloadWire>,
}

#[derive(Deserialize)]
struct PayloadWire {
    #[serde(rename = "type")]
    kind: Option<String>,
    role: Option<String>,
}

/// A reply of the model on the main chain, in either shape of record that harnesses write.
fn is_reply(line: &[u8]) -> bool {
    let Ok(line) = serde_json::from_slice::<LineWire>(line) else {
        return false;
    };
    let of_response = || {
        line.payload.as_ref().is_some_and(|payload| {
            payload.kind.as_deref() == Some("message")
                && payload.role.as_deref() == Some("assistant")
        })
    };
    match line.kind.as_deref() {
        Some("assistant") => !line.is_sidechain,
        Some("response_item") => of_response(),
        Some(_) | None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TAG: &str = "[harn:g1:abcdef]";

    #[test]
    fn the_tag_proves_delivery_and_only_a_later_reply_proves_absence() {
        let reply = br#"{"type":"assistant","isSidechain":false,"message":{}}"#;
        let cases: [(Vec<u8>, Option<Delivery>); 6] = [
            (b"".to_vec(), None),
            (b"{\"type\":\"user\"}\n".to_vec(), None),
            ([reply.as_slice(), b"\n"].concat(), Some(Delivery::Absent)),
            // Not written to its end yet.
            (reply.to_vec(), None),
            (
                b"{\"type\":\"assistant\",\"isSidechain\":true}\n".to_vec(),
                None,
            ),
            (
                [
                    b"{\"type\":\"attachment\",\"content\":\"[harn:g1:abcdef] x\"}\n",
                    reply.as_slice(),
                    b"\n",
                ]
                .concat(),
                Some(Delivery::Delivered),
            ),
        ];
        for (since, expected) in cases {
            assert_eq!(
                examine(&since, TAG),
                expected,
                "{}",
                String::from_utf8_lossy(&since)
            );
        }
        let rollout = b"{\"type\":\"response_item\",\"payload\":{\"type\":\"message\",\"role\":\"assistant\"}}\n";
        assert_eq!(examine(rollout, TAG), Some(Delivery::Absent));
    }
}
