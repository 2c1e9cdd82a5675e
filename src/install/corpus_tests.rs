//! Texts that people could have, each taken through install, a second install, and uninstall.

use super::*;
use crate::adapter::submit_keys::{SubmitKeys, bound};

const ADAPTER: &str = "demo";
const ALL: Parts = Parts {
    hooks: true,
    status_line: true,
};

fn wanted(harn: &str) -> Vec<Hook> {
    ["SessionStart", "Stop", "PreCompact"]
        .map(|event| Hook {
            event: event.to_owned(),
            command: format!("{harn} hook {ADAPTER} {event}"),
            timeout_s: 10,
        })
        .into()
}

/// Installed once; twice is the same, and taken out again it is the text before.
fn installed(format: Format, text: &str) -> String {
    let hooks = wanted("'/opt/a b/harn'");
    let first = merge_hooks(format, text, ADAPTER, &hooks, &[]).unwrap();
    assert_eq!(first.reasons.len(), 3, "{text}");
    let second = merge_hooks(format, &first.text, ADAPTER, &hooks, &first.spots).unwrap();
    assert_eq!((second.reasons, &second.text), (Vec::new(), &first.text));
    let found = hooks_in(format, &first.text, ADAPTER).unwrap();
    assert_eq!(found.len(), 3, "{}", first.text);
    let stripped = strip(format, &first.text, ADAPTER, ALL, &first.spots).unwrap();
    assert_eq!(stripped, text, "{}", first.text);
    first.text
}

const FOREIGN: &str = r#"{
    // mine
    "model": "opus", /* keep */
    "hooks": {
        "Stop": [
            {
                "matcher": "",
                "hooks": [
                    {"type": "command", "command": "say done"}, // spoken
                ]
            }
        ],
        "Other": []
    },
    "env": { "A": "b" }
}
"#;

#[test]
fn json_texts_come_back_as_they_were() {
    let texts = [
        "{}",
        "{}\n",
        "{ }\n",
        "{\n}\n",
        "{\n\n}",
        "{\"a\":1}",
        "{\"a\": 1}",
        "{ \"a\": 1 }\n",
        "{\"hooks\":{}}",
        "{\"hooks\":{\"Stop\":[]}}",
        "{\"hooks\": {\"Stop\": [ ]}, \"a\": [1, 2]}",
        "{\"hooks\":{},\"hooks\":{\"Stop\":[{\"hooks\":[{\"type\":\"command\",\"command\":\"x\"}]}]}}",
        "{\"\\u0068ooks\":{\"Stop\":[]}}",
        "{\n  \"a\": 1 // c\n}\n",
        "{\n  \"a\": 1, // c\n}\n",
        "{\n  \"a\": 1 /* c */ /* d */ // e\n  // f\n}\n",
        "{\n  // only a comment\n}\n",
        "{ /* c */ }\n",
        "{\r\n\t\"a\": 1,\r\n\t\"hooks\": {\r\n\t\t\"Stop\": []\r\n\t}\r\n\t// tail\r\n}",
        "{\n\t\"hooks\": {\n\t\t\"Stop\": [\n\t\t]\n\t}\n}",
        "{\n   \"a\": [\n      1\n   ]\n}",
        "{\n  \"a\": 1   \n}   \n\n",
        "{\n  \"a\": 1}",
        "{\n\"a\": 1,\n\"hooks\": {\"Stop\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"x\"}]}]}\n}\n",
        "// before\n{\"a\": \"//\\\" ,\"} // after\n",
        FOREIGN,
    ];
    for text in texts {
        installed(Format::Json, text);
    }
}

#[test]
fn nothing_at_all_becomes_an_object_and_nothing_again() {
    for text in ["", "\n", "  \r\n"] {
        let change = merge_hooks(Format::Json, text, ADAPTER, &wanted("/bin/harn"), &[]).unwrap();
        let stripped = strip(Format::Json, &change.text, ADAPTER, ALL, &change.spots).unwrap();
        assert_eq!(stripped, text);
    }
}

#[test]
fn what_is_added_is_laid_out_as_its_surroundings_are() {
    insta::assert_snapshot!(installed(Format::Json, FOREIGN));
    insta::assert_snapshot!(installed(
        Format::Json,
        "{\"hooks\":{\"Stop\":[{\"hooks\":[]}]},\"a\":1}"
    ));
    insta::assert_snapshot!(installed(Format::Json, "{\n\t\"a\": 1\n}\n"));
    insta::assert_snapshot!(installed(Format::Toml, "model = \"x\"\n"));
}

#[test]
fn toml_texts_come_back_as_they_were() {
    let texts = [
        "",
        "model = \"x\"\n",
        "model = \"x\"",
        "# only a comment\n",
        "model = \"x\"\r\n[tui]\r\na = 1\r\n",
        "model = \"x\"\r\n[tui]\r\na = 1",
        "[hooks]\nStop = [{hooks=[{type=\"command\",command=\"x\"}]}]\n[tui]\n",
        "[hooks]\nStop = [\n  {hooks=[{type=\"command\",command=\"x\"}]}, # mine\n]\n",
        "[hooks]\nStop = []\nPreCompact = [ ]\n\n\n",
        "[[hooks.Stop]]\nmatcher = \"\"\n[[hooks.Stop.hooks]]\ntype = \"command\"\ncommand = 'say \"x\"'\n",
        "[hooks.state.\"/a:stop:0:0\"]\ntrusted_hash = \"sha256:0\"\n",
        "hooks.Stop = [{hooks=[]}]\n",
        "a = 1\n\n\n# end",
    ];
    for text in texts {
        installed(Format::Toml, text);
    }
}

#[test]
fn what_others_write_between_install_and_uninstall_stays() {
    let json = installed(Format::Json, FOREIGN);
    let change = merge_hooks(Format::Json, FOREIGN, ADAPTER, &wanted("harn"), &[]).unwrap();
    let edit = |text: &str| {
        text.replace("\"model\": \"opus\"", "\"model\": \"haiku\"")
            .replace("\"Other\": []", "\"Other\": [1]")
            .replace(
                "    \"env\": { \"A\": \"b\" }\n",
                "    \"env\": { \"A\": \"b\" },\n    \"new\": true\n",
            )
    };
    let stripped = strip(Format::Json, &edit(&json), ADAPTER, ALL, &change.spots).unwrap();
    assert_eq!(stripped, edit(FOREIGN));

    let toml = installed(Format::Toml, "a = 1\n");
    let more = "\n[hooks.state.\"x\"]\ntrusted_hash = \"y\"\n";
    let stripped = strip(Format::Toml, &format!("{toml}{more}"), ADAPTER, ALL, &[]).unwrap();
    assert_eq!(stripped, format!("a = 1\n{more}"));
}

#[test]
fn hooks_of_an_older_path_are_brought_up_to_date_where_they_stand() {
    for (format, text) in [(Format::Json, FOREIGN), (Format::Toml, "a = 1\n")] {
        let old = merge_hooks(format, text, ADAPTER, &wanted("/old/harn"), &[]).unwrap();
        let new = merge_hooks(
            format,
            &old.text,
            ADAPTER,
            &wanted("'/n w/harn'"),
            &old.spots,
        );
        let new = new.unwrap();
        assert_eq!(new.reasons.len(), 3);
        assert_eq!(new.text, old.text.replace("/old/harn", "'/n w/harn'"));
        assert_eq!(
            strip(format, &new.text, ADAPTER, ALL, &new.spots).unwrap(),
            text
        );
    }
}

#[test]
fn a_second_entry_and_one_that_nobody_wants_are_taken_out() {
    for format in [Format::Json, Format::Toml] {
        let all = merge_hooks(format, "", ADAPTER, &wanted("harn"), &[]).unwrap();
        let fewer = wanted("harn").split_off(1);
        let change = merge_hooks(format, &all.text, ADAPTER, &fewer, &all.spots).unwrap();
        assert_eq!(change.reasons, ["SessionStart: not wanted"]);
        let again = merge_hooks(format, "", ADAPTER, &fewer, &[]).unwrap();
        assert_eq!(change.text, again.text);
    }
    let entry = r#"{"hooks":[{"type":"command","command":"harn hook demo Stop","timeout":10}]}"#;
    let text = format!(r#"{{"hooks":{{"Stop":[{entry},{entry}]}}}}"#);
    let stop = wanted("harn").remove(1);
    let change = merge_hooks(Format::Json, &text, ADAPTER, &[stop], &[]).unwrap();
    assert_eq!(change.text, format!(r#"{{"hooks":{{"Stop":[{entry}]}}}}"#));
}

#[test]
fn a_handler_in_a_group_of_the_users_leaves_the_group_to_them() {
    let text = r#"{"hooks":{"Stop":[{"matcher":"","hooks":[{"command":"a"},{"command":"harn hook demo Stop"},{"command":"b"}]}]}}"#;
    let stripped = strip(Format::Json, text, ADAPTER, ALL, &[]).unwrap();
    assert_eq!(
        stripped,
        r#"{"hooks":{"Stop":[{"matcher":"","hooks":[{"command":"a"},{"command":"b"}]}]}}"#
    );
}

#[test]
fn what_cannot_be_read_is_refused_with_its_place() {
    let refusal = |format, text| {
        merge_hooks(format, text, ADAPTER, &wanted("harn"), &[])
            .unwrap_err()
            .to_string()
    };
    insta::assert_snapshot!(
        [
            refusal(Format::Json, "{\n  \"a\": 1\n  \"b\": 2\n}"),
            refusal(Format::Json, "{\"a\": 'x'}"),
            refusal(Format::Json, "{\"a\": 1"),
            refusal(Format::Json, "{} {}"),
            refusal(Format::Json, "[]"),
            refusal(Format::Json, "{\"hooks\": []}"),
            refusal(Format::Json, "{\n\"hooks\": {\"Stop\": {}}}"),
            refusal(Format::Toml, "a = 1\nb = \n"),
            refusal(Format::Toml, "hooks = {Stop = []}\n"),
            refusal(Format::Toml, "hooks = 1\n"),
        ]
        .join("\n")
    );
}

#[test]
fn a_status_line_is_stood_in_front_of_and_given_back() {
    let mine = "{\n  \"statusLine\": {\"type\": \"command\", \"command\": \"~/l\\u0069ne 'a b'\", \"padding\": 0}\n}\n";
    for text in ["{}", "{\n  \"a\": 1\n}\n", mine] {
        let first = merge_status_line(text, ADAPTER, "harn", &[]).unwrap();
        assert_eq!(first.reasons, ["status line: not wired"]);
        let second = merge_status_line(&first.text, ADAPTER, "/x/harn", &first.spots).unwrap();
        assert_eq!(second.reasons, ["status line: another command"]);
        assert!(has_status_line(&second.text, ADAPTER).unwrap());
        let stripped = strip(Format::Json, &second.text, ADAPTER, ALL, &second.spots).unwrap();
        assert_eq!(stripped, text);
    }
    let bare = merge_status_line(mine, ADAPTER, "harn", &[]).unwrap().text;
    assert!(
        bare.contains(r#""command": "harn statusline demo --then \"~/line 'a b'\"", "padding""#),
        "{bare}"
    );
    let odd = merge_status_line("{\"statusLine\": \"x\"}", ADAPTER, "harn", &[]);
    assert_eq!(
        odd.unwrap_err().to_string(),
        "line 1, column 16: statusLine is not a command"
    );
}

#[test]
fn chords_are_added_to_the_prompts_block_and_taken_out_again() {
    let texts = [
        "",
        "{}",
        "{\n  \"bindings\": []\n}\n",
        "{\"bindings\": [{\"context\": \"Chat\", \"bindings\": {}}]}",
        "{\n  \"bindings\": [\n    {\n      \"context\": \"Chat\",\n      \"bindings\": {\n        \"ctrl+k\": null\n      }\n    },\n    {\n      \"context\": \"Global\",\n      \"bindings\": {}\n    }\n  ]\n}\n",
        "{\"bindings\":[{\"context\":\"Chat\",\"bindings\":{\"ctrl+x ctrl+r\":\"chat:submit\"}}]}",
    ];
    for text in texts {
        let first = merge_keys(text, &[]).unwrap();
        assert_eq!(bound(&first.text), SubmitKeys::Bound, "{}", first.text);
        assert_eq!(
            merge_keys(&first.text, &first.spots).unwrap().text,
            first.text
        );
        assert_eq!(
            strip_keys(&first.text, &first.spots).unwrap(),
            text,
            "{}",
            first.text
        );
        assert_eq!(strip_keys(&first.text, &[]).unwrap(), first.text);
    }
    let taken =
        "{\"bindings\":[{\"context\":\"Chat\",\n\"bindings\":{\"ctrl+x ctrl+r\":\"chat:undo\"}}]}";
    assert_eq!(
        merge_keys(taken, &[]).unwrap_err().to_string(),
        "line 2, column 14: ctrl+x ctrl+r has another meaning already"
    );
    let odd = merge_keys("{\"bindings\": {}}", &[])
        .unwrap_err()
        .to_string();
    assert_eq!(odd, "line 1, column 14: bindings is not a list");
}
