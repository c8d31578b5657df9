//! `GET /user-summaries`: the daily summaries of the token's patient, page by page.

use axum::extract::State;
use axum::response::Response;
use platform::PlatformError;
use serde::Serialize;
use utoipa::openapi::Ref;
use utoipa::openapi::schema::{Array, ArrayBuilder};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use vitals::summary::Section;
use vitals::zone::{LocalClock, LocalDay};

use crate::days::{Arrangement, DayForm, EXTRA, many_days, required_date};
use crate::error::{ErrorBody, Result};
use crate::extract::HealthCall;
use crate::parameters::{Parameters, both, malformed};
use crate::state::ApiState;
use crate::streamed::Frame;

/// The most days of a range: ten years. Pages beyond that are not what anybody means.
const LONGEST_RANGE_DAYS: i64 = 3_660;
const DEFAULT_PER_PAGE: i64 = 10;
const LARGEST_PER_PAGE: i64 = 100;

/// Returns the routes.
pub(super) fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new().routes(routes!(user_summaries))
}

/// Days that are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Pages {
    first: LocalDay,
    last: LocalDay,
    per_page: i64,
    page: i64,
}

impl Pages {
    /// Reads the parameters. A last day after the patient's present day, such as 9999-12-31, is brought to that day where the
    /// range is too long otherwise.
    fn read(parameters: &Parameters, today: LocalDay) -> std::result::Result<Self, PlatformError> {
        let (first, last) = both(required_date(parameters, "date_from"), required_date(parameters, "date_to"))?;
        let is_too_long = i64::from(last.0) - i64::from(first.0) >= LONGEST_RANGE_DAYS;
        let last = if is_too_long { last.min(today.max(first)) } else { last };
        if last < first {
            return Err(PlatformError::invalid("date_to", "must not be before date_from"));
        }
        // Every day of a range is an element, so that `total` is a number of days whatever is stored.
        if i64::from(last.0) - i64::from(first.0) >= LONGEST_RANGE_DAYS {
            return Err(PlatformError::invalid("date_to", format!("must be within {LONGEST_RANGE_DAYS} days")));
        }
        // Clamped and not refused: clients of such interfaces ask for a thousand to get everything.
        let per_page = integer(parameters, "per_page")?.unwrap_or(DEFAULT_PER_PAGE).clamp(1, LARGEST_PER_PAGE);
        let page = integer(parameters, "page")?.unwrap_or(1).max(1);
        Ok(Pages { first, last, per_page, page })
    }

    /// Days of the whole range.
    fn total(&self) -> i64 {
        i64::from(self.last.0) - i64::from(self.first.0) + 1
    }

    fn last_page(&self) -> i64 {
        (self.total() + self.per_page - 1) / self.per_page
    }

    /// Positions of the page's first and last day in the range, from 1; `None` beyond the last page.
    fn positions(&self) -> Option<(i64, i64)> {
        // An empty page with the right totals, and no error: the range may have been shortened since the last page.
        if self.page > self.last_page() {
            return None;
        }
        let from = (self.page - 1) * self.per_page + 1;
        Some((from, (from + self.per_page - 1).min(self.total())))
    }

    /// Returns the day at a position.
    fn day(&self, position: i64) -> LocalDay {
        LocalDay((i64::from(self.first.0) + position - 1) as i32)
    }
}

fn integer(parameters: &Parameters, key: &'static str) -> std::result::Result<Option<i64>, PlatformError> {
    let Some(text) = parameters.one(key) else { return Ok(None) };
    text.parse().map(Some).map_err(|_| malformed(key, "must be an integer"))
}

/// A page of daily summaries.
#[derive(Serialize, utoipa::ToSchema)]
struct SummaryPage {
    // Empty here: days are written into the answer one by one, where the list begins.
    #[schema(schema_with = daily_summaries)]
    data: [(); 0],
    /// Number of this page, from 1.
    #[schema(example = 1)]
    current_page: i64,
    /// Days of a page.
    #[schema(example = 1)]
    per_page: i64,
    /// Number of the last page.
    #[schema(example = 2)]
    last_page: i64,
    /// Days of the range.
    #[schema(example = 2)]
    total: i64,
    /// Position of the first day shown, from 1; null when there is none.
    #[schema(example = 1)]
    from: Option<i64>,
    /// Position of the last day shown.
    #[schema(example = 1)]
    to: Option<i64>,
    /// Address without the query.
    #[schema(example = "https://study.example/health/user-summaries")]
    path: String,
    /// Address of the first page.
    #[schema(
        example = "https://study.example/health/user-summaries?date_from=2025-11-19&date_to=2025-11-20&include_slots=0&per_page=1&page=1"
    )]
    first_page_url: String,
    /// Address of the last page.
    #[schema(
        example = "https://study.example/health/user-summaries?date_from=2025-11-19&date_to=2025-11-20&include_slots=0&per_page=1&page=2"
    )]
    last_page_url: String,
    /// Address of the next page; null on the last.
    #[schema(
        example = "https://study.example/health/user-summaries?date_from=2025-11-19&date_to=2025-11-20&include_slots=0&per_page=1&page=2"
    )]
    next_page_url: Option<String>,
    /// Address of the page before; null on the first.
    #[schema(example = json!(null))]
    prev_page_url: Option<String>,
}

/// Beginning of a page; the days follow.
const DATA: &str = "{\"data\":[";

fn daily_summaries() -> Array {
    let days = ArrayBuilder::new().items(Ref::from_schema_name("DailySummary"));
    days.description(Some("The days of the page, ascending.")).build()
}

impl SummaryPage {
    fn new(pages: &Pages, form: &DayForm, path: String) -> Self {
        let last_page = pages.last_page();
        let url = |page: i64| url_of_page(&path, pages, form, page);
        let positions = pages.positions();
        SummaryPage {
            data: [],
            current_page: pages.page,
            per_page: pages.per_page,
            last_page,
            total: pages.total(),
            from: positions.map(|(from, _)| from),
            to: positions.map(|(_, to)| to),
            first_page_url: url(1),
            last_page_url: url(last_page),
            next_page_url: (pages.page < last_page).then(|| url(pages.page + 1)),
            // From far beyond the end the way back leads to the last page that has days.
            prev_page_url: (pages.page > 1).then(|| url((pages.page - 1).min(last_page))),
            path,
        }
    }
}

/// Returns the address of a page, with everything that this page was asked for with.
fn url_of_page(path: &str, pages: &Pages, form: &DayForm, page: i64) -> String {
    let Pages { first, last, per_page, .. } = pages;
    // Written out although 0 is the default, so that a followed address cannot change its meaning.
    let slots = u8::from(form.parts.slots);
    let mut types = String::new();
    if form.sections.len() < Section::ALL.len() {
        let names: Vec<&str> = form.sections.iter().map(|section| section.name()).collect();
        let extra = form.parts.extra.then_some(EXTRA);
        types = format!("&types={}", names.into_iter().chain(extra).collect::<Vec<_>>().join(","));
    } else if form.parts.extra {
        types.push_str("&include_extra=1");
    }
    format!("{path}?date_from={first}&date_to={last}&include_slots={slots}&per_page={per_page}{types}&page={page}")
}

/// Returns the daily summaries of the token's patient, ascending.
///
/// Every day of the range is there, also one without data.
///
/// At most 3,660 days, and a later last day, such as 9999-12-31, becomes the present day; `per_page` is at least 1 and at most 100.
#[utoipa::path(get, path = "/user-summaries", tag = "summaries",
    params(("date_from" = String, Query, description = "YYYY-MM-DD"), ("date_to" = String, Query, description = "YYYY-MM-DD"),
        ("include_slots" = Option<i64>, Query, description = "1 to include slots"),
        ("include_extra" = Option<i64>, Query, description = "1 to include `extra`"),
        ("types[]" = Option<Vec<String>>, Query, description = "sections to show; all without it"),
        ("per_page" = Option<i64>, Query), ("page" = Option<i64>, Query)),
    security(("health_token" = []), ("oauth2" = ["patient.read"])),
    responses((status = 200, body = SummaryPage),
        (status = 400, body = ErrorBody), (status = 401, body = ErrorBody), (status = 403, body = ErrorBody),
        (status = 422, body = ErrorBody), (status = 503, body = ErrorBody)))]
async fn user_summaries(
    State(state): State<ApiState>,
    HealthCall(caller): HealthCall,
    parameters: Parameters,
) -> Result<Response> {
    let zone = caller.time_zone().unwrap_or("UTC");
    let today = LocalClock::new(zone).day(state.platform.core.now_ms().saturating_mul(1000));
    let pages = Pages::read(&parameters, today)?;
    let form = DayForm::read(&parameters)?;
    let patient = caller.readable()?;
    let mut days = Vec::new();
    if let Some((from, to)) = pages.positions() {
        days = state.platform.data.days_of_patient(&patient, (pages.day(from), pages.day(to)), form.parts).await?;
    }
    // From the configured address: the Host header is whatever the client says.
    let path = format!("{}/user-summaries", state.platform.core.settings().health_url.trim_end_matches('/'));
    let page = serde_json::to_string(&SummaryPage::new(&pages, &form, path));
    let page = page.map_err(|error| PlatformError::Internal(error.to_string()))?;
    let after = page.strip_prefix(DATA).ok_or_else(|| PlatformError::Internal("a page without `data`".to_owned()))?;
    let frame = Frame { before: DATA.into(), after: after.into() };
    many_days(futures::stream::iter([Ok(days)]), form, Arrangement::Listed(frame)).await
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pages(query: &str) -> std::result::Result<Pages, u16> {
        let query = format!("/?date_from=2026-03-01&{query}");
        let today = LocalDay::parse("2026-04-30").expect("a day");
        match Pages::read(&Parameters::of(&query.parse().expect("an address")), today) {
            Ok(pages) => Ok(pages),
            Err(PlatformError::Malformed { .. }) => Err(400),
            Err(PlatformError::Invalid(_)) => Err(422),
            Err(other) => panic!("{other:?}"),
        }
    }

    #[test]
    fn pages_cover_the_range_without_gap() {
        for (query, positions) in [
            ("date_to=2026-03-25", Some((1, 10))),
            ("date_to=2026-03-25&page=0", Some((1, 10))),
            ("date_to=2026-03-25&page=-3", Some((1, 10))),
            ("date_to=2026-03-25&page=3", Some((21, 25))),
            ("date_to=2026-03-25&page=4", None),
            ("date_to=2026-03-25&page=9223372036854775807", None),
            ("date_to=2026-03-01&per_page=0", Some((1, 1))),
            ("date_to=2026-12-31&per_page=1000", Some((1, 100))),
            ("date_to=2026-03-30&per_page=10&page=3", Some((21, 30))),
        ] {
            assert_eq!(pages(query).expect("pages").positions(), positions, "{query}");
        }
        let page = pages("date_to=2026-03-30&per_page=10").expect("pages");
        assert_eq!((page.total(), page.last_page(), page.day(30)), (30, 3, page.last));
    }

    #[test]
    fn what_cannot_be_is_reported() {
        for (query, status) in [
            ("", 422),
            ("date_to=2026-02-28", 422),
            ("date_to=2026-3-2", 422),
            ("date_to=2026-03-02&page=one", 400),
            ("date_to=2026-03-02&per_page=1.5", 400),
        ] {
            assert_eq!(pages(query), Err(status), "{query}");
        }
        assert!(pages("date_to=2036-03-07").is_ok());
    }

    #[test]
    fn a_last_day_that_means_no_end_is_today() {
        for never in ["2036-03-08", "9999-12-31"] {
            let pages = pages(&format!("date_to={never}")).expect("pages");
            assert_eq!((pages.last.to_string().as_str(), pages.total()), ("2026-04-30", 61));
        }
        let read = |query: &str, today: &str| {
            let parameters = Parameters::of(&format!("/?{query}").parse().expect("an address"));
            Pages::read(&parameters, LocalDay::parse(today).expect("a day"))
        };
        let query = "date_from=2026-03-01&date_to=9999-12-31";
        assert!(read(query, "2036-03-07").is_ok());
        assert!(matches!(read(query, "2036-03-08"), Err(PlatformError::Invalid(_))), "a part would be left out");
        assert_eq!(read(query, "2026-01-01").expect("pages").total(), 1);
    }
}
