//! The command line: clap types and nothing else. `command` gives them meaning.

use std::ffi::OsString;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::config::TokenCount;
use crate::demo;

/// Keeps a coding agent's work state across context compactions.
#[derive(Debug, Parser)]
#[command(
    name = "harn",
    version,
    arg_required_else_help = true,
    after_help = "Examples:\n  \
        harn run -- demo             see it work, without an account: a scripted agent and a short story\n  \
        harn run -- claude           work in Claude Code, with its state saved and given back\n  \
        harn context status          where the session stands\n  \
        harn context show            the newest checkpoint\n\n\
        Exit codes: 0 ok, 1 failed, 3 not done, 4 unconfirmed, 64 usage, 65 bad data, 70 a bug in harn."
)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Host a harness or any program in a PTY
    Run(RunArgs),
    /// Where am I: session, repository, peers; or look at checkpoints and save one
    Context(ContextArgs),
    /// Ask an owned run for a compaction that is proven
    Compact(CompactArgs),
    /// What harn claims of each harness, and whether it holds
    Adapter(AdapterArgs),
    /// Durable words for the next checkpoint: the task, a rule, the next step
    Note(NoteArgs),
    /// The canonical events of a session
    Events(EventsArgs),
    /// Every session harn knows and every owned run: which is about to forget, and which just did
    Sessions(SessionsArgs),
    /// The same as a live dashboard
    #[command(
        after_help = "Keys: ↑ ↓ select, c compact (owned sessions), s save a checkpoint, b briefing, / filter, q quit.\n\n\
        Example:\n  harn watch"
    )]
    Watch,
    /// The entry point of a harness's hooks: reads the payload from standard input
    #[command(
        after_help = "Always exits 0; prints one JSON document or nothing.\n\nExample:\n  \
        harn hook claude-code PreCompact < payload.json"
    )]
    Hook(HookArgs),
    /// The built-in agent that `harn run -- demo` hosts
    #[command(name = "demo-agent", hide = true)]
    DemoAgent(demo::Options),
    /// Stand in front of a harness's status line: record the sample, then run the user's own
    #[command(
        after_help = "Prints what the user's own status line prints, or harn's segment where there is none.\n\nExample:\n  \
        harn statusline claude-code < status.json"
    )]
    Statusline(StatuslineArgs),
    /// Put harn's hooks into a harness's own settings, for sessions that harn does not own
    Install(InstallArgs),
    /// Take out of a harness's settings what `install` put there
    Uninstall(UninstallArgs),
    /// Is everything wired, trusted, firing and writable (exit 1 if not)
    #[command(
        after_help = "Changes no settings and no session. In harn's own state directory it writes a probe, takes it away\n\
                      again, and keeps what installed clients say of their version.\n\nExamples:\n  harn doctor\n  harn doctor --json\n  harn doctor --terminal"
    )]
    Doctor(DoctorArgs),
    /// Print a completion script
    #[command(after_help = "Example:\n  \
        harn completions bash > ~/.local/share/bash-completion/completions/harn")]
    Completions(CompletionsArgs),
    /// Print the manual page
    #[command(after_help = "Example:\n  harn man | man -l -")]
    Man,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    harn run -- demo\n  \
    harn run -- claude\n  \
    harn run -- claude --resume\n  \
    harn run --compact-at 160k -- claude\n  \
    harn run --no-hooks -- claude\n  \
    echo 'explain main.rs' | harn run -- claude -p\n  \
    harn run -- vim README.md\n\n\
    Returns the program's own exit code, 128+n when signal n ended it, 127 when it is not found,\n\
    126 when it cannot be executed.")]
pub struct RunArgs {
    /// What harn shows of itself while the program runs [default: row for a known harness on 8 rows or more, else off]
    #[arg(long, value_enum)]
    pub overlay: Option<Overlay>,

    /// Ask for a compaction when this many tokens are in use, such as 160k; only at an idle prompt
    #[arg(long, value_name = "TOKENS")]
    pub compact_at: Option<TokenCount>,

    /// After a confirmed compaction, type one fixed line that goes on with the task
    #[arg(long)]
    pub continue_after_compact: bool,

    /// Wire no hooks: host the program and nothing else
    #[arg(long)]
    pub no_hooks: bool,

    /// A name for this run
    #[arg(long)]
    pub name: Option<String>,

    /// Treat the program as this harness, whatever its name
    #[arg(long, value_name = "ID")]
    pub adapter: Option<String>,

    /// The harness or program, and its arguments
    #[arg(last = true, required = true, value_name = "PROGRAM")]
    pub program: Vec<OsString>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Overlay {
    /// The last row
    Row,
    /// The window's title
    Title,
    /// Nothing: the program has the whole terminal
    Off,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Types the harness's own command when its prompt is proven to take it, and says \"confirmed\" only when the\n\
        harness's own record holds the compaction. Until then it waits: for a busy agent, a dialog, a draft.\n\
        Ctrl-C withdraws the request as long as nothing was typed.\n\n\
        Examples:\n  \
        harn compact\n  \
        harn compact --focus 'keep the API notes' --wait 60\n  \
        harn compact --run docs --json\n  \
        harn compact --wait 0 && harn events --follow\n\n\
        Exit codes: 0 confirmed or pending, 3 refused, skipped or cancelled, 4 unconfirmed, 1 failed or misfired."
)]
pub struct CompactArgs {
    /// The run, by id or name; not needed where this project has one
    #[arg(long, value_name = "ID")]
    pub run: Option<String>,

    /// What the summary is to keep: one line of at most 200 characters
    #[arg(long, value_name = "TEXT")]
    pub focus: Option<String>,

    /// How long to wait for the outcome; 0 asks and goes
    #[arg(long, value_name = "SECONDS", default_value_t = 300)]
    pub wait: u64,

    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
        harn adapter list\n  \
        harn adapter show claude-code\n  \
        harn adapter bench\n  \
        harn adapter bench --require-installed --json\n  \
        harn adapter bench --live claude-code")]
pub struct AdapterArgs {
    #[command(subcommand)]
    pub command: AdapterCommand,
}

#[derive(Debug, Subcommand)]
pub enum AdapterCommand {
    /// All adapters and their claims, a line each
    List(ListAdaptersArgs),
    /// One adapter's claims, with basis, evidence and notes
    Show(ShowAdapterArgs),
    /// Replay every recording through harn, and hold what it shows against the claims (exit 1 on drift)
    #[command(
        after_help = "Offline: recordings that are part of harn go through its decoder, machine and replies; installed clients are asked for\n\
        their version and nothing else.\n\n\
        Verdicts: supported, partial, unsupported, unknown (as claimed), skipped (nothing to look at), drift (not as claimed)."
    )]
    Bench(BenchArgs),
}

#[derive(Debug, Args)]
pub struct ListAdaptersArgs {
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct ShowAdapterArgs {
    /// The adapter, such as claude-code
    pub id: String,

    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of the command line"
)]
pub struct BenchArgs {
    /// Only this adapter
    pub id: Option<String>,

    /// Drive installed clients, too: a whole session each, in a scratch home, against a scripted model on loopback
    #[arg(long)]
    pub live: bool,

    /// A client that is not installed is a failure
    #[arg(long)]
    pub require_installed: bool,

    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct StatuslineArgs {
    /// The adapter, such as claude-code
    pub adapter: String,

    /// The user's own status line: run with the same input, in harn's place
    #[arg(long, value_name = "COMMAND", allow_hyphen_values = true)]
    pub then: Option<String>,
}

/// Whose settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum InstallScope {
    /// Yours, for every project
    User,
    /// This project's, for everybody who works in it
    Project,
    /// Yours, for this project
    Local,
}

#[derive(Debug, Args)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag on the command line"
)]
#[command(
    after_help = "Hooks save a checkpoint before a compaction and give the work back after it. They cannot \
        compact: that takes `harn run`. Everything else in the files stays as it is, to the byte.\n\n\
        Examples:\n  \
        harn install claude-code --dry-run\n  \
        harn install claude-code --statusline --keys\n  \
        harn install codex --scope project\n  \
        harn install claude-code --check && echo up to date\n\n\
        Exits with 3 where the harness has nothing that harn could be put into; --check with 1 when something is to be done."
)]
pub struct InstallArgs {
    /// The adapter, such as claude-code
    pub adapter: String,

    /// Whose settings
    #[arg(long, value_enum, default_value = "user")]
    pub scope: InstallScope,

    /// Put harn in front of the status line, too; your own goes on being shown
    #[arg(long)]
    pub statusline: bool,

    /// Bind two key chords, too, by which an owned session can be compacted without touching a draft
    #[arg(long)]
    pub keys: bool,

    /// Show what would change and change nothing
    #[arg(long, conflicts_with = "check")]
    pub dry_run: bool,

    /// Say whether something is to be done
    #[arg(long)]
    pub check: bool,

    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag on the command line"
)]
#[command(
    after_help = "Without --statusline and --keys: everything that harn put there.\n\n\
        Examples:\n  \
        harn uninstall claude-code\n  \
        harn uninstall codex --scope project --dry-run"
)]
pub struct UninstallArgs {
    /// The adapter, such as claude-code
    pub adapter: String,

    /// Whose settings
    #[arg(long, value_enum, default_value = "user")]
    pub scope: InstallScope,

    /// Only the status line
    #[arg(long)]
    pub statusline: bool,

    /// Only the key chords
    #[arg(long)]
    pub keys: bool,

    /// Show what would change and change nothing
    #[arg(long)]
    pub dry_run: bool,

    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct HookArgs {
    /// The adapter, such as claude-code
    pub adapter: String,
    /// The harness's own name of the event
    pub event: String,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
        harn context\n  \
        harn context --section repo --section commits\n  \
        harn context status\n  \
        harn context status --json | jq .phase\n  \
        harn context checkpoint --note 'never use curl; use ./bin/api'\n  \
        harn context show 2\n  \
        harn context diff 1 2\n\n\
        Without --session: the session of the run this is called in, the session that the harness names\n\
        in the environment, or the only live session of this project.")]
#[command(args_conflicts_with_subcommands = true)]
pub struct ContextArgs {
    #[command(subcommand)]
    pub command: Option<ContextCommand>,

    /// Only this section of the orientation report; may be given again
    #[arg(long, value_enum)]
    pub section: Vec<Section>,

    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

/// A part of the orientation report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Section {
    /// Session, harness, run
    #[value(name = "self")]
    Self_,
    /// The time, UTC
    Time,
    /// Branch, HEAD, uncommitted changes
    Repo,
    /// The newest commits
    Commits,
    /// Other live sessions of this project, and runs elsewhere
    Peers,
    /// Phase, compactions, context in use
    Context,
    /// The newest checkpoint
    Capsule,
}

#[derive(Debug, Subcommand)]
pub enum ContextCommand {
    /// Phase, generation, last checkpoint, delivery of the last briefing
    Status(StatusArgs),
    /// Print a checkpoint; the newest without a generation
    Show(ShowArgs),
    /// Save a checkpoint now; always a new generation
    Checkpoint(CheckpointArgs),
    /// All checkpoints of a session
    List(ListArgs),
    /// What lies between two checkpoints
    Diff(DiffArgs),
    /// Used tokens over time, with each compaction marked
    Graph(GraphArgs),
    /// Rebuild the state from events and checkpoints, and report differences (exit 65 if there are any)
    Verify(VerifyArgs),
}

/// Which session, and how to print.
#[derive(Debug, Args)]
pub struct SessionArgs {
    /// The harness's own session id
    #[arg(long, value_name = "ID")]
    pub session: Option<String>,

    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct StatusArgs {
    #[command(flatten)]
    pub session: SessionArgs,
}

#[derive(Debug, Args)]
pub struct ShowArgs {
    /// The checkpoint's generation
    pub generation: Option<u64>,

    #[command(flatten)]
    pub session: SessionArgs,
}

#[derive(Debug, Args)]
pub struct ListArgs {
    #[command(flatten)]
    pub session: SessionArgs,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Marks: M asked of harn, with its own outcome; A automatic, H by hand, by the harness's word alone.\n\n\
    Examples:\n  \
    harn context graph\n  \
    harn context graph --svg context.svg"
)]
pub struct GraphArgs {
    /// Write the graph to this file as SVG
    #[arg(long, value_name = "FILE")]
    pub svg: Option<std::path::PathBuf>,

    #[command(flatten)]
    pub session: SessionArgs,
}

#[derive(Debug, Args)]
pub struct VerifyArgs {
    #[command(flatten)]
    pub session: SessionArgs,
}

#[derive(Debug, Args)]
pub struct DiffArgs {
    /// The older checkpoint's generation
    pub from: u64,
    /// The newer checkpoint's generation
    pub to: u64,

    #[command(flatten)]
    pub session: SessionArgs,
}

#[derive(Debug, Args)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag on the command line"
)]
#[command(
    group = clap::ArgGroup::new("what").required(true).args(["text", "list", "drop"]),
    after_help = "A note is given back in every briefing until it is dropped: at most 20 of 500 characters. There is one\n\
        task and one next step; a newer one takes the older one's place.\n\n\
        Examples:\n  \
        harn note 'never use curl; use ./bin/api'\n  \
        harn note --task 'move the parser to the new lexer'\n  \
        harn note --next 'run the fuzz target again'\n  \
        harn note --list\n  \
        harn note --drop 2"
)]
pub struct NoteArgs {
    /// The words
    pub text: Option<String>,

    /// This is the task
    #[arg(long, conflicts_with_all = ["keep", "next", "list", "drop"])]
    pub task: bool,

    /// This must be kept (the default)
    #[arg(long, conflicts_with_all = ["next", "list", "drop"])]
    pub keep: bool,

    /// This is the next step
    #[arg(long, conflicts_with_all = ["list", "drop"])]
    pub next: bool,

    /// Print the notes
    #[arg(long)]
    pub list: bool,

    /// Remove the note with this number
    #[arg(long, value_name = "N")]
    pub drop: Option<usize>,

    #[command(flatten)]
    pub session: SessionArgs,
}

#[derive(Debug, Args)]
#[command(
    after_help = "With --json one event a line (NDJSON), exactly as stored.\n\n\
    Examples:\n  \
    harn events\n  \
    harn events --follow\n  \
    harn events --json | jq -r .type"
)]
pub struct EventsArgs {
    /// Go on as events come, until interrupted
    #[arg(long, short)]
    pub follow: bool,

    #[command(flatten)]
    pub session: SessionArgs,
}

#[derive(Debug, Args)]
#[command(
    after_help = "The most urgent first: a session that lost its context, one with a compaction under way, one whose\n\
    window is almost full. States: owned (a live run hosts it), open (only its hooks speak), crashed,\n\
    unreadable, foreign (another tool's), retired.\n\n\
    Examples:\n  \
    harn sessions\n  \
    harn sessions --json | jq '.sessions[] | select(.state == \"owned\")'"
)]
pub struct SessionsArgs {
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// Reset the terminal: line discipline, mouse, keyboard protocol, screen, colours
    #[arg(long)]
    pub terminal: bool,

    /// Print one JSON document
    #[arg(long, conflicts_with = "terminal")]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// The shell
    pub shell: clap_complete::Shell,
}

#[derive(Debug, Args)]
pub struct CheckpointArgs {
    /// A must-keep note for this checkpoint and the next ones (500 characters at most)
    #[arg(long, value_name = "TEXT")]
    pub note: Option<String>,

    #[command(flatten)]
    pub session: SessionArgs,
}
