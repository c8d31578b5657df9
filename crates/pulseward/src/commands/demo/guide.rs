//! What the demonstration prints: addresses, a login, an API key, three commands to try.

use std::fmt::Write as _;
use std::sync::Arc;

use bracelet::fleet::Session;
use jiff::tz::{TimeZone, TimeZoneDatabase};
use jiff::{SignedDuration, Timestamp};
use store::GroupCode;

use crate::commands::simulate::local_zone;
use crate::failure::Failure;
use crate::output::write_out;
use crate::wiring;

/// The account that the demonstration shows its study to.
pub(super) struct DemoAccount {
    pub email: &'static str,
    /// None when the account was there before.
    pub password: Option<String>,
    pub api_key: String,
}

/// What is printed.
pub struct Guide<'a> {
    /// Address of the service.
    pub url: &'a str,
    /// The account.
    pub account: &'a DemoAccount,
    /// Code of the group.
    pub group: &'a GroupCode,
    /// The patients.
    pub sessions: &'a [Arc<Session>],
}

/// Prints the guide on standard output.
pub fn print(guide: &Guide<'_>) -> Result<(), Failure> {
    let now = Timestamp::from_millisecond(wiring::now_ms()).unwrap_or(Timestamp::UNIX_EPOCH);
    write_out(text(guide, now).as_bytes())
}

fn text(guide: &Guide<'_>, now: Timestamp) -> String {
    let Guide { url, account, group, sessions } = guide;
    let key = &account.api_key;
    let zone = TimeZoneDatabase::bundled().get(&local_zone()).unwrap_or(TimeZone::UTC);
    let today = now.to_zoned(zone).date();
    let password = account.password.as_deref().unwrap_or("(as it was printed when this folder was new)");
    let portal = if cfg!(feature = "portal") { format!("Portal            {url}/\n") } else { String::new() };
    let mut text = format!(
        "\n\
         {portal}Integration API   {url}/integration\n\
         Users Cloud       {url}/users\n\
         Health Cloud      {url}/health\n\
         OpenAPI document  {url}/openapi.json\n\
         \n\
         Login             {email}  {password}\n\
         API key           {key}\n\
         Study             {group}, {count} patients\n\
         \n\
         # The patients with their latest values\n\
         curl -s '{url}/integration/v1/groups/{group}/patients?with_latest_values=1&token={key}'\n\
         \n\
         # Their summaries of today\n\
         curl -s '{url}/integration/v1/groups/{group}/summaries?date={today}&token={key}'\n",
        email = account.email,
        count = sessions.len(),
    );
    if let Some(session) = sessions.first() {
        let hour_ago = now.checked_sub(SignedDuration::from_hours(1)).unwrap_or(now);
        // Writing to a string cannot fail.
        let _ = write!(
            text,
            "\n\
             # What one bracelet sent in the last hour, with a health token for its patient\n\
             TOKEN=$(curl -s '{url}/integration/v1/patients/{uuid}/health-token?token={key}' \
             | sed 's/.*\"token\": *\"\\([^\"]*\\)\".*/\\1/')\n\
             curl -s -H \"Authorization: Bearer $TOKEN\" \
             '{url}/health/v2/raw-metrics/activity?from_date={hour_ago:.0}&to_date={now:.0}'\n\n",
            uuid = session.uuid,
        );
    }
    text
}
