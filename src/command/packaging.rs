//! `harn completions` and `harn man`: what packages ship beside the binary.

use clap::CommandFactory as _;

use crate::cli::{Cli, CompletionsArgs};
use crate::exit::Exit;

/// Prints the completion script of one shell.
pub(super) fn completions(args: &CompletionsArgs) -> anyhow::Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "harn", &mut script);
    super::dispatch::say_bytes(&script)
}

/// Prints one manual page that holds every command.
pub(super) fn man() -> anyhow::Result<Exit> {
    let mut page = Vec::new();
    let command = Cli::command();
    clap_mangen::Man::new(command.clone()).render(&mut page)?;
    for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set()) {
        let man =
            clap_mangen::Man::new(sub.clone().display_name(format!("harn {}", sub.get_name())));
        page.extend(format!(".SH \"HARN {}\"\n", sub.get_name().to_uppercase()).bytes());
        man.render_description_section(&mut page)?;
        man.render_options_section(&mut page)?;
    }
    super::dispatch::say_bytes(&page)
}
