//! What `doctor --verify` reads, as far as it is the store's: rows, pages, sealed files, the engine's own check.

use crate::error::Result;
use crate::health::{Walk, WalkPosition};
use crate::{HealthDb, PagesPart, UsersDb};

/// Returns whether anything of the users database is found damaged.
pub(super) async fn is_found_of_users(users: &UsersDb) -> bool {
    pages(async |behind: String| users.check_pages(&behind).await).await
        || !users.engine_check().await.expect("an answer").findings.is_empty()
}

/// Returns whether anything of the health database or of its objects is found damaged.
pub(super) async fn is_found_of_health(health: &HealthDb) -> bool {
    pages(async |behind: String| health.check_pages(&behind).await).await
        || rows(health).await
        || files(health).await
        || !health.engine_check().await.expect("an answer").findings.is_empty()
}

async fn pages(check: impl AsyncFn(String) -> Result<PagesPart>) -> bool {
    let mut behind = Some(String::new());
    while let Some(from) = behind {
        let part = check(from).await.expect("pages, whatever is damaged");
        if !part.damaged.is_empty() {
            return true;
        }
        behind = part.next;
    }
    false
}

async fn rows(health: &HealthDb) -> bool {
    for walk in [Walk::Chunks, Walk::Derived, Walk::Settings, Walk::Patients] {
        let mut behind = Some(WalkPosition::default());
        while let Some(from) = behind {
            let part = health.verify_part(walk, from, 256).await.expect("a part, whatever is damaged");
            if !part.findings.is_empty() {
                return true;
            }
            behind = part.next;
        }
    }
    false
}

async fn files(health: &HealthDb) -> bool {
    let Ok(files) = health.segments_by_path("").await else { return true };
    for file in files {
        if health.verify_sealed_file(&file).await.is_err() {
            return true;
        }
    }
    false
}
