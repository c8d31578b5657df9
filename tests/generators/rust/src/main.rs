//! The scenario with the client that openapi-generator makes for Rust.

use std::future::Future;
use std::time::Duration;

use generated::apis::configuration::{ApiKey, Configuration};
use generated::apis::{exports_api, logins_api, patients_api, raw_metrics_api, summaries_api, sync_api};
use generated::models;
use serde_json::json;

fn about(name: &str) -> String {
    std::env::var(format!("SCENARIO_{name}")).expect("the scenario says it")
}

/// Asks again, since what is derived comes a moment after the sync that it is made of.
async fn until<T, F: Future<Output = Option<T>>>(ask: impl Fn() -> F) -> T {
    for _ in 0..100 {
        if let Some(answer) = ask().await {
            return answer;
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    panic!("what was waited for did not come");
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let anyone = Configuration { base_path: about("URL"), ..Configuration::default() };
    let mut login = models::LoginRequest::new(about("PASSWORD"));
    login.email = Some(Some(about("EMAIL")));
    let users = logins_api::users_post_login(&anyone, login).await.expect("a login");
    let exchange = models::TokenExchange::new(users.token);
    let health = logins_api::health_post_login(&anyone, exchange).await.expect("a login");
    let patient = Configuration {
        base_path: about("URL"),
        // Not as `oauth_access_token` too: each is a header, and the service refuses two.
        bearer_access_token: Some(health.token),
        ..Configuration::default()
    };
    let key = Some(ApiKey { prefix: None, key: about("KEY") });
    let researcher = Configuration { base_path: about("URL"), api_key: key, ..Configuration::default() };

    let begin: i64 = about("BEGIN_MS").parse().expect("a number");
    let minutes: i64 = about("MINUTES").parse().expect("a number");
    let times: Vec<i64> = (0..minutes).map(|minute| begin + minute * 60_000).collect();
    let rates: Vec<i64> = (0..minutes).map(|minute| 60 + minute).collect();
    let sync = json!({"data": {"activity": {"timestamp": times, "bpm": rates, "wearing": 4}}});
    let sync: models::Sync = serde_json::from_value(sync).expect("a sync");
    let receipt = sync_api::health_post_sync(&patient, sync, None).await.expect("a receipt");
    let stored = receipt.types["activity"].stored;

    let (group, uuid, date) = (about("GROUP"), about("UUID"), about("DATE"));
    let latest = until(|| async {
        let rows = patients_api::integration_get_groups_group_code_patients(&researcher, &group, None, Some("1")).await;
        let row = rows.expect("a list").into_iter().find(|row| row.uuid == uuid).expect("the patient");
        row.latest_values??.heart_rate?
    })
    .await;
    let slots = until(|| async {
        let day = date.parse().expect("a day");
        let read = summaries_api::integration_get_patients_uuid_summary_date;
        let day = read(&researcher, &uuid, day, Some("1"), None, None).await;
        let slots = day.expect("a day").heart_rate?.slots?.into_iter().filter(|slot| slot.bpm.is_some()).count();
        (slots as i64 == minutes / 5).then_some(slots)
    })
    .await;
    // By the local clock: the client writes an instant with a blank in it, which is no ISO 8601.
    let (from, to) = (format!("{date}T00:00:00"), format!("{date}T23:59:59"));
    let read = raw_metrics_api::health_get_raw_metrics_raw_metric_type;
    let rows = read(&patient, "activity", None, None, Some(&from), Some(&to)).await.expect("rows");
    for (row, rate) in rows.iter().zip(&rates) {
        assert_eq!(json!(row)["bpm"], json!(rate), "{row:?}");
    }
    let mut order = models::ExportRequest::new(format!("{date}T00:00:00"), format!("{date}T23:59:59"));
    order.types = Some(Some(vec!["activity".to_owned()]));
    let begun = exports_api::integration_post_create_export_uuid(&researcher, &uuid, order).await.expect("an export");
    let address = until(|| async {
        let export = exports_api::integration_get_export_export_id(&researcher, &begun.id).await.expect("an export");
        export.download_url?
    })
    .await;
    let archive = reqwest::get(address).await.expect("an archive").bytes().await.expect("an archive");
    let first = String::from_utf8_lossy(&archive[..2]);
    println!("stored {stored} latest {latest} slots {slots} rows {} archive {first}", rows.len());
}
