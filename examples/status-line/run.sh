#!/bin/sh
# harn in front of a status line of one's own: harn takes the numbers, the line is shown as before.
set -eu

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
export HOME="$place/home" XDG_STATE_HOME="$place/home/.local/state" XDG_CONFIG_HOME="$place/home/.config"
unset CLAUDE_CONFIG_DIR
mkdir -p "$HOME/.claude" "$place/project"
cd "$place/project"

# The line that was there before: a script that reads the same standard input.
cat >"$HOME/line.sh" <<'LINE'
#!/bin/sh
printf 'my line, %s bytes of status' "$(wc -c | tr -d ' ')"
LINE
chmod +x "$HOME/line.sh"
settings=$HOME/.claude/settings.json
printf '{\n  "statusLine": {"type": "command", "command": "~/line.sh", "padding": 0}\n}\n' >"$settings"
cp "$settings" "$place/before.json"

harn install claude-code --statusline >/dev/null
echo '== the settings now'
grep statusLine "$settings"

# What the client does with it: a session begins, then its status changes.
printf '{"session_id":"example","cwd":"%s","hook_event_name":"SessionStart","source":"startup"}' "$PWD" |
    harn hook claude-code SessionStart
status='{"session_id":"example","workspace":{"project_dir":"'$PWD'"},"context_window":{"context_window_size":200000,
"current_usage":{"input_tokens":84000,"output_tokens":10,"cache_creation_input_tokens":0,"cache_read_input_tokens":0},"used_percentage":42}}'
command=$(sed -n 's/.*"command": "\(.*\)", "padding".*/\1/p' "$settings")
echo '== the line that is drawn'
printf '%s' "$status" | sh -c "$command"
echo
echo '== what harn has learned from it'
harn context status --session example | grep -i context

harn uninstall claude-code >/dev/null
cmp "$settings" "$place/before.json" && echo '== uninstalled, every byte as before'
