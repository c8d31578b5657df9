//! placeholder
pub mod health_cloud;
