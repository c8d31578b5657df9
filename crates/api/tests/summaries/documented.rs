//! Answers of summaries are what the OpenAPI document says of them: nothing is there that it does not describe.

use serde_json::json;

use crate::common::schema::faults;
use crate::{Study, half_an_hour};

#[tokio::test]
async fn every_field_of_a_summary_is_documented() {
    let study = Study::begin().await;
    let patient = study.patient().await;
    study.story.sync(&patient, half_an_hour()).await;
    let document = api::document();
    let schema = |path: &str| {
        document["paths"][path]["get"]["responses"]["200"]["content"]["application/json"]["schema"].clone()
    };
    let form = "&include_slots=1&include_extra=1";
    let range = format!("date_from=2025-11-19&date_to=2025-11-20{form}");
    let days = study.story.get_as(&format!("/health/user-summaries?{range}"), &patient.health_token).await.ok();
    let answers = [
        (
            "/integration/v1/patients/{uuid}/summary/{date}",
            study.story.get(&study.path(&patient, "2025-11-20", form)).await.ok(),
        ),
        (
            "/integration/v1/groups/{group_code}/summaries",
            study.story.get(&study.group_path(&format!("&date=2025-11-20{form}"))).await.ok(),
        ),
        ("/health/user-summaries", days),
    ];
    for (path, answer) in answers {
        assert_eq!(faults(&answer, &schema(path), &document["components"]["schemas"], path), Vec::<String>::new());
    }
}

#[test]
fn what_is_not_as_documented_is_found() {
    let schemas = api::document()["components"]["schemas"].clone();
    let wrong = json!({"date": 7, "spo2": {"avg_spo2": 101, "mood": 1}, "heart_rate": {"slots": [{"bpm": "x"}]}});
    let found = faults(&wrong, &json!({"$ref": "#/components/schemas/DailySummary"}), &schemas, "day");
    for place in
        ["day.date is", "day.spo2.avg_spo2 is out", "day.spo2.mood is not", "day.heart_rate.slots[0] lacks is_wearing"]
    {
        assert!(found.iter().any(|fault| fault.starts_with(place)), "{place}: {found:#?}");
    }
}
