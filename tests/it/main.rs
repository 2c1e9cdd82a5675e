//! Tests of the binary and of what needs a real repository or a real PTY; one file a command.
#![cfg(test)]

mod adapter;
mod compact;
mod context;
mod demo;
mod docs;
mod doctor;
mod examples;
mod faults;
mod graph;
mod hook;
mod identity;
mod install;
mod layering;
mod live;
mod note;
mod packaging;
mod reliability;
mod repo;
mod run;
mod session;
mod sessions;
mod support;
mod telemetry;
mod trust;
mod twice;
mod watch;
mod wiring;
