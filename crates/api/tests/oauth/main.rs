//! OAuth over HTTP: a client that others wrote goes through it from end to end, and what RFC 9700 warns of is tried.

#[path = "../common/mod.rs"]
mod common;

mod attacks;
mod browser;
mod cross_origin;
mod endings;
mod flow;
mod pages;
mod scene;
