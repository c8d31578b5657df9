//! Answers that pages show without a program that asks for them.

use serde_json::{Value, json};
use tempfile::tempdir;

use super::blocks::blocks_of;
use crate::harness::{Researcher, Service};

#[tokio::test]
async fn error_of_the_conventions_is_answered() {
    let blocks = blocks_of("docs/api-conventions.md");
    let shown: Vec<Value> = blocks.iter().map(|block| serde_json::from_str(&block.text).unwrap()).collect();
    let data = tempdir().unwrap();
    let service = Service::start(data.path());
    let researcher = Researcher::new(data.path(), &service.url).await;
    let patient = researcher.enrol().await;
    let path = format!("/integration/v1/patients/{}/profile", patient.uuid);
    assert_eq!(researcher.put(&path, &json!({"email": "rita"})).await, (422, shown[0].clone()));
    assert_eq!(shown.len(), 1);
}
