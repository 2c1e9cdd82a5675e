//! Settings files as people have them, each with a name.

use serde_json::json;

/// JSON settings, each with a name.
pub(super) fn json_corpus() -> Vec<(&'static str, Vec<u8>)> {
    let huge = {
        let mut map = serde_json::Map::new();
        for number in 0..20_000 {
            map.insert(format!("key{number}"), json!(["value", {"n": number}]));
        }
        serde_json::to_string_pretty(&map).unwrap()
    };
    let mut corpus: Vec<(&str, Vec<u8>)> = [PLAIN, ODD]
        .concat()
        .into_iter()
        .map(|(name, text)| (name, text.as_bytes().to_vec()))
        .collect();
    corpus.push(("huge", huge.into_bytes()));
    corpus
}

pub(super) fn toml_corpus() -> Vec<(&'static str, &'static str)> {
    vec![
        (
            "list of tables",
            "model = \"x\"\n\n[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ntype = \"command\"\ncommand = \"say\"\n",
        ),
        (
            "inline list",
            "[hooks]\nStop = [{ hooks = [{ type = \"command\", command = 'say \"x\"' }] }] # mine\n\n[tui]\ntheme = \"x\"\n",
        ),
        (
            "list over lines",
            "[hooks]\nStop = [\n    # mine\n    { hooks = [{ type = \"command\", command = \"say\" }] },\n]\nPreCompact = []\n",
        ),
        (
            "dos",
            "model = \"x\"\r\n\r\n[[hooks.Stop]]\r\nhooks = []\r\n",
        ),
        ("no line end", "[[hooks.Stop]]\nhooks = []"),
        ("dos without an end", "[[hooks.Stop]]\r\nhooks = []"),
        (
            "comments",
            "# first\n[[hooks.Stop]] # why\nhooks = [] # none\n# last\n",
        ),
        ("byte order mark", "\u{feff}[[hooks.Stop]]\nhooks = []\n"),
        (
            "strings of all kinds",
            "a = '''\n[[hooks.Stop]]\n'''\nb = \"\\u00e4\"\n[[hooks.Stop]]\nhooks = [{ command = \"\"\"x\ny\"\"\" }]\n",
        ),
        ("dotted", "hooks.Stop = [{ hooks = [] }]\nmodel = \"x\"\n"),
        (
            "trust",
            "[[hooks.Stop]]\nhooks = []\n\n[hooks.state.\"/x:stop:0:0\"]\ntrusted_hash = \"sha256:00\"\n",
        ),
    ]
}

const PLAIN: &[(&str, &str)] = &[
    ("empty file", ""),
    ("one line end", "\n"),
    ("blanks", "   \n\t\n"),
    ("empty object", "{}"),
    ("empty object and line end", "{}\n"),
    ("blank in the object", "{ }"),
    ("line in the object", "{\n}\n"),
    ("only a comment", "// mine\n"),
    ("comment without a line end", "/* mine */"),
    ("comment in the object", "{\n  // mine\n}\n"),
    ("minified", r#"{"model":"opus","env":{"A":"b"}}"#),
    (
        "minified with hooks",
        r#"{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"x"}]}]},"z":1}"#,
    ),
    (
        "one line with blanks",
        "{ \"model\": \"opus\", \"hooks\": { \"Stop\": [] } }\n",
    ),
    ("two blanks", "{\n  \"model\": \"opus\"\n}\n"),
    ("four blanks", "{\n    \"model\": \"opus\"\n}\n"),
    (
        "tabs",
        "{\n\t\"hooks\": {\n\t\t\"Stop\": [\n\t\t\t{\n\t\t\t\t\"hooks\": []\n\t\t\t}\n\t\t]\n\t}\n}\n",
    ),
    ("no line end", "{\n  \"model\": \"opus\"\n}"),
    ("many line ends", "\n\n{\n  \"model\": \"opus\"\n}\n\n\n"),
    (
        "dos",
        "{\r\n  \"model\": \"opus\",\r\n  \"hooks\": {}\r\n}\r\n",
    ),
    ("dos without an end", "{\r\n\t\"model\": \"opus\"\r\n}"),
    ("mixed line ends", "{\r\n  \"a\": 1,\n  \"b\": 2\r\n}\n"),
];

const ODD: &[(&str, &str)] = &[
    ("byte order mark", "\u{feff}{\n  \"model\": \"opus\"\n}\n"),
    ("byte order mark alone", "\u{feff}"),
    (
        "comments everywhere",
        "// a\n{ // b\n  /* c */ \"model\" /* d */ : /* e */ \"opus\" /* f */, // g\n  // h\n} // i\n",
    ),
    (
        "comma at the end",
        "{\n  \"model\": \"opus\",\n  \"hooks\": {\n    \"Stop\": [],\n  },\n}\n",
    ),
    (
        "foreign hooks",
        "{\n  \"hooks\": {\n    \"SessionStart\": [\n      {\n        \"matcher\": \"startup\",\n        \"hooks\": [\n          {\n            \"type\": \"command\",\n            \"command\": \"echo hi\"\n          }\n        ]\n      }\n    ]\n  }\n}\n",
    ),
    (
        "foreign status line",
        "{\n  \"statusLine\": { \"type\": \"command\", \"command\": \"npx \\u0063cline 'x y' \\\"$HOME\\\"\", \"padding\": 0 }\n}\n",
    ),
    (
        "key twice",
        "{\n  \"hooks\": {\"Stop\": []},\n  \"model\": \"x\",\n  \"hooks\": {\"Stop\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"y\"}]}]}\n}\n",
    ),
    (
        "escapes",
        "{\n  \"\\u0068ooks\": {\n    \"St\\u006fp\": []\n  },\n  \"ä\\/\": \"\\ud83d\\ude00 // no comment , {\"\n}\n",
    ),
    ("deep", "{\"a\":[[[[[[{\"b\":{\"c\":{\"d\":[]}}}]]]]]]}"),
    (
        "nulls and numbers",
        "{\n  \"a\": null,\n  \"b\": -1.5e+10,\n  \"c\": true\n}\n",
    ),
    (
        "closing bracket in the line",
        "{\n  \"a\": 1,\n  \"hooks\": {\n    \"Stop\": [] } }\n",
    ),
    (
        "blanks at line ends",
        "{  \n  \"a\": 1  ,  \n  \"b\": 2  \n}  \n",
    ),
    (
        "no indentation",
        "{\n\"a\": 1,\n\"hooks\": {\n\"Stop\": [\n]\n}\n}\n",
    ),
    ("all hooks off", "{\"disableAllHooks\": true}\n"),
];
