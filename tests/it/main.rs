#![cfg(test)]

mod run;
mod support;
