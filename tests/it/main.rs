//! Tests of the binary and of what needs a real repository or a real PTY; one file a command.
#![cfg(test)]

mod context;
mod demo;
mod hook;
mod repo;
mod run;
mod support;
