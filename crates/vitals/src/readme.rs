//! Runs the examples of the README as documentation tests.

#[doc = include_str!("../README.md")]
struct Readme;
