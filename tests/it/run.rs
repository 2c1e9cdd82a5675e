//! `harn run`: the host of a program in a PTY, seen from the user's terminal.
