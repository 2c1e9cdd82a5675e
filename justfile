# List what can be done.
default:
    @just --list

# Format the code.
fmt:
    cargo fmt

# What CI checks before it runs a test.
lint:
    cargo fmt --check
    cargo clippy --locked --all-targets -- -D warnings
    RUSTDOCFLAGS="-D warnings" cargo doc --locked --no-deps
    cargo deny --all-features check licenses bans sources

# The README's test command.
test:
    cargo test

# The end-to-end tests with the real clients, installed first.
real:
    npm ci --prefix tests/real --ignore-scripts --no-audit --no-fund
    node tests/real/node_modules/@anthropic-ai/claude-code/install.cjs
    HARN_REAL_CLIENTS=required cargo test --test real

# Everything, the way CI does it.
ci:
    .ci/run

# Look at changed snapshots.
snap:
    INSTA_UPDATE=always cargo test --lib --test it
    git diff --stat -- '*.snap'

# Measure: whole processes beside their peers, in one run.
bench:
    cargo bench --bench hook
    cargo bench --bench checkpoint
