#!/bin/sh
# Hook mode in a scratch repository: the hooks of a session that harn does not own, called as the agent calls them.
set -eu

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
export HOME="$place/home" XDG_STATE_HOME="$place/home/.local/state" XDG_CONFIG_HOME="$place/home/.config"
mkdir -p "$HOME" "$place/project/.claude"
cd "$place/project"
git init --quiet
git config user.name Example
git config user.email example@example.org
echo 'first line' >notes.txt
git add notes.txt
git commit --quiet --message 'notes'

# Settings of one's own, which stay as they are.
settings=.claude/settings.local.json
printf '{\n  "model": "opus"\n}\n' >"$settings"
cp "$settings" "$place/before.json"

echo '== what would change'
harn install claude-code --scope local --dry-run | head -n 8
harn install claude-code --scope local >/dev/null
harn install claude-code --scope local --check >/dev/null && echo '== installed, and up to date'

# Runs the command that stands in the settings, with a payload on its standard input.
fire() {
    command=$(sed -n "s/.*\"command\": \"\(.* hook claude-code $1\)\".*/\1/p" "$settings")
    printf '{"session_id":"example","cwd":"%s","hook_event_name":"%s",%s}' "$PWD" "$1" "$2" | sh -c "$command"
}

echo '== a turn, and the announcement of a compaction'
fire SessionStart '"source":"startup"'
fire UserPromptSubmit '"prompt":"make the notes say second line; never touch the README","prompt_id":"t1"'
echo 'second line' >notes.txt
fire PostToolUse '"tool_name":"Edit","tool_input":{"file_path":"'"$PWD"'/notes.txt"},"prompt_id":"t1"'
fire Stop '"last_assistant_message":"The notes are changed.","prompt_id":"t1"'
fire PreCompact '"trigger":"auto","prompt_id":"t2"'

echo '== what the agent is given after it'
fire SessionStart '"source":"compact","prompt_id":"t2"'
echo
echo '== where the session stands'
harn context status --session example

harn uninstall claude-code --scope local >/dev/null
cmp "$settings" "$place/before.json" && echo '== uninstalled, every byte as before'
