//! The families of operations.

use serde_json::{Value, json};

/// Name and description of each tag.
const TAGS: [(&str, &str); 15] = [
    ("studies", "Studies, their members and settings."),
    ("patients", "Patients of a study, and what is set for them."),
    ("bracelets", "The inventory of bracelets, and who wears which."),
    ("summaries", "Daily summaries with slots of five and thirty minutes."),
    ("compliance", "Share of the expected data of a patient that has arrived."),
    ("exports", "Archives of raw data, sealed files and atrial-fibrillation records."),
    ("audit logs", "Actions, and the accounts that did them."),
    ("events", "What happens in a study, as pages and as a stream."),
    ("logins", "Logins and tokens of both clouds."),
    ("users", "The caller's own account."),
    ("oauth", "Applications that patients grant access."),
    ("keys", "Public keys, by which tokens can be checked."),
    ("sync", "Uploads of samples."),
    ("raw metrics", "Samples of a small window."),
    ("portal", "Routes of the portal beyond the integration API."),
];

/// Returns the tags of the document.
pub(super) fn tags() -> Value {
    let operations = ("operations", "Health, readiness, metrics and descriptions of the service.");
    TAGS.into_iter()
        .chain([operations])
        .map(|(name, description)| json!({"name": name, "description": description}))
        .collect()
}
