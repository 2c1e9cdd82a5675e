#!/bin/sh
# A hosted agent that is compacted by a policy: when 160,000 tokens are in use and it stands at a proven idle prompt, harn asks for
# a compaction, and says that it happened only when the agent's own record says so.
#
# In a terminal, type:  move the lexer   then:  now the tests   and watch the last row. Then:  what next   and  /exit
set -eu

here=$(cd "$(dirname "$0")" && pwd)
exec harn run --compact-at 160k -- demo --submit-keys --script "$here/session.script"
