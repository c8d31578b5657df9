//! placeholder
pub mod health_cloud;
pub mod raw_rows;
