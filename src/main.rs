//! The `harn` binary.

use std::env;
use std::process::ExitCode;

use harn::terminal::launcher;

fn main() -> ExitCode {
    let mut args = env::args_os();
    if args
        .nth(1)
        .is_some_and(|word| word == launcher::LAUNCH_WORD)
    {
        return launcher::main(args);
    }
    harn::command::main(env::args_os())
}
