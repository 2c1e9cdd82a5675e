#![cfg(test)]

mod repo;
