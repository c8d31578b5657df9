//! Tests of several services together.

mod failing_operations;
