//! What an operator can set.

use store::{Objects, SettingName};

/// The name of the setting that says for how many days raw data of a group's patients are kept, by type.
pub const RETENTION_SETTING: SettingName = SettingName::new("retention");

/// Where copies of the objects lie. Settings are shown to everyone above, so what lies there can be read by the service alone:
///
/// ```
/// fn has_copies(core: &platform::Core) -> bool {
///     core.settings().object_copies.is_some()
/// }
/// ```
///
/// ```compile_fail
/// async fn read(core: &platform::Core, path: &str) {
///     let copies = core.settings().object_copies.clone().unwrap();
///     let _ = copies.0.read(path, None).await;
/// }
/// ```
///
/// ```compile_fail
/// async fn read(core: &platform::Core, path: &str) {
///     let copies = core.settings().object_copies.clone().unwrap();
///     let _ = copies.read(path, None).await;
/// }
/// ```
#[derive(Clone, Debug)]
pub struct ObjectCopies(pub(crate) Objects);

impl ObjectCopies {
    /// The copies that lie in a folder or bucket of their own.
    pub fn lying_in(objects: Objects) -> Self {
        ObjectCopies(objects)
    }
}

/// What an operator can set.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Minutes that an access token lives.
    pub token_ttl_minutes: i64,
    /// Minutes from its first issue within which a token can be refreshed.
    pub token_refresh_minutes: i64,
    /// Days that a voucher can be used.
    pub voucher_days: i64,
    /// Address of the integration API as clients see it.
    pub integration_url: String,
    /// Address of the Users Cloud as clients see it: the issuer of its tokens.
    pub users_url: String,
    /// Address of the Health Cloud as clients see it: the issuer of its tokens.
    pub health_url: String,
    /// Seconds between two exports of a patient, where an operator has set nothing else in the database.
    pub export_interval_s: i64,
    /// Seconds for which events are kept. The id of a sync is known as long as its event.
    pub event_retention_s: i64,
    /// Seconds for which security events are kept.
    pub security_retention_s: i64,
    /// Minutes after which a session of the portal that nobody uses is locked.
    pub portal_idle_minutes: i64,
    /// Hours after which a session of the portal ends.
    pub portal_session_hours: i64,
    /// Bytes a second that are read at most to check what is stored; 0 when nothing is checked.
    pub scrub_bytes_per_s: u64,
    /// Where copies of the objects lie, from which damaged ones are brought back.
    pub object_copies: Option<ObjectCopies>,
    /// How many password hashes may be computed at once.
    pub password_hashes_at_once: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            token_ttl_minutes: 60,
            token_refresh_minutes: 518_400,
            voucher_days: 90,
            integration_url: "http://127.0.0.1:8080/integration".to_owned(),
            users_url: "http://127.0.0.1:8080/users".to_owned(),
            health_url: "http://127.0.0.1:8080/health".to_owned(),
            // Section 8 of the specification: one export of a patient in five minutes.
            export_interval_s: 300,
            event_retention_s: 30 * 86_400,
            security_retention_s: 365 * 86_400,
            portal_idle_minutes: 15,
            portal_session_hours: 12,
            // A gigabyte in four minutes, next to which nobody notices the reading.
            scrub_bytes_per_s: 4 << 20,
            object_copies: None,
            password_hashes_at_once: 2,
        }
    }
}
