//! Daily summaries as answers: what may be asked of them, and JSON that is written while it is sent.
//!
//! A day with its slots is some hundred kilobytes. Days are written a few at a time on a thread that may block and
//! leave as soon as they are written, so the memory that an answer takes does not grow with it.

use axum::body::{Body, Bytes};
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use futures::{Stream, StreamExt};
use platform::{PatientDay, PlatformError};
use vitals::summary::Section;
use vitals::zone::LocalDay;

use crate::error::{Result, broken_off};
use crate::parameters::Parameters;

/// Days with slots that are written at once.
const DAYS_WITH_SLOTS: usize = 8;
/// Days without slots that are written at once.
const DAYS_WITHOUT_SLOTS: usize = 64;

/// How days are to be shown.
#[derive(Clone, Debug)]
pub(crate) struct DayForm {
    /// Whether with slots.
    pub include_slots: bool,
    /// Which sections.
    pub sections: Vec<Section>,
}

impl DayForm {
    /// Reads `include_slots`; all sections are shown.
    pub fn of_all_sections(parameters: &Parameters) -> std::result::Result<Self, PlatformError> {
        Ok(DayForm { include_slots: parameters.flag("include_slots")?, sections: Section::ALL.to_vec() })
    }

    /// Reads `include_slots` and `types`. Without `types` all sections are shown; invalid when one is not known.
    pub fn read(parameters: &Parameters) -> std::result::Result<Self, PlatformError> {
        let mut form = DayForm::of_all_sections(parameters)?;
        let names = parameters.list("types");
        let unknown: Vec<&str> = names.iter().copied().filter(|name| Section::from_name(name).is_none()).collect();
        if !unknown.is_empty() {
            return Err(PlatformError::invalid("types", format!("unknown: {}", unknown.join(", "))));
        }
        if !names.is_empty() {
            form.sections = names.into_iter().filter_map(Section::from_name).collect();
        }
        Ok(form)
    }

    /// How many days are written at once.
    fn at_once(&self) -> usize {
        if self.include_slots { DAYS_WITH_SLOTS } else { DAYS_WITHOUT_SLOTS }
    }
}

/// A date in a path or a query. Invalid when it is not one.
pub(crate) fn date(field: &str, text: &str) -> std::result::Result<LocalDay, PlatformError> {
    LocalDay::parse(text).ok_or_else(|| PlatformError::invalid(field, "must be a date as YYYY-MM-DD"))
}

/// A date in a query. Invalid when it is not there or not one.
pub(crate) fn required_date(
    parameters: &Parameters,
    field: &'static str,
) -> std::result::Result<LocalDay, PlatformError> {
    date(field, parameters.one(field).ok_or_else(|| PlatformError::invalid(field, "is required"))?)
}

/// What goes around days and between them.
#[derive(Debug)]
pub(crate) struct Frame {
    /// Before the first day.
    pub before: Vec<u8>,
    /// After the last day.
    pub after: Vec<u8>,
    /// Whether each day is a member named by its patient, and not an element.
    pub by_patient: bool,
}

/// An answer of one day.
pub(crate) async fn one_day(day: PatientDay, form: DayForm) -> Result<Response> {
    let written = tokio::task::spawn_blocking(move || {
        let mut out = Vec::new();
        day.write_json(&mut out, &form.sections);
        out
    });
    let out = written.await.map_err(|error| PlatformError::Internal(error.to_string()))?;
    Ok(([(CONTENT_TYPE, "application/json")], out).into_response())
}

/// An answer of many days, which come batch by batch. Fails with a status of its own when the first batch does.
pub(crate) async fn many_days<Batches>(batches: Batches, form: DayForm, frame: Frame) -> Result<Response>
where
    Batches: Stream<Item = platform::Result<Vec<PatientDay>>> + Send + 'static,
{
    let mut batches = Box::pin(batches);
    let first = batches.next().await.transpose()?;
    let batches = futures::stream::iter(first.map(Ok)).chain(batches);
    let body = Body::from_stream(written(batches, form, frame));
    Ok(([(CONTENT_TYPE, "application/json")], body).into_response())
}

/// Writes days as they come. A fault in mid-answer breaks the connection off: a shorter answer would look whole.
fn written(
    batches: impl Stream<Item = platform::Result<Vec<PatientDay>>> + Send + 'static,
    form: DayForm,
    frame: Frame,
) -> impl Stream<Item = std::io::Result<Bytes>> {
    let Frame { before, after, by_patient } = frame;
    async_stream::try_stream! {
        let mut out = before;
        let mut is_first = true;
        let mut batches = std::pin::pin!(batches);
        while let Some(batch) = batches.next().await {
            let mut days = batch.map_err(broken_off)?.into_iter();
            while days.len() > 0 {
                let some: Vec<PatientDay> = days.by_ref().take(form.at_once()).collect();
                let sections = form.sections.clone();
                let mut piece = std::mem::take(&mut out);
                let write = tokio::task::spawn_blocking(move || {
                    for day in some {
                        if !std::mem::take(&mut is_first) {
                            piece.push(b',');
                        }
                        if by_patient {
                            // A uuid needs no escaping.
                            piece.extend_from_slice(format!("\"{}\":", day.patient).as_bytes());
                        }
                        day.write_json(&mut piece, &sections);
                    }
                    piece
                });
                is_first = false;
                yield Bytes::from(write.await.map_err(std::io::Error::other)?);
            }
        }
        out.extend(after);
        yield Bytes::from(out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(query: &str) -> std::result::Result<DayForm, PlatformError> {
        DayForm::read(&Parameters::of(&format!("/?{query}").parse().expect("an address")))
    }

    #[test]
    fn sections_are_chosen_in_every_way_to_write_a_list() {
        assert_eq!(form("").expect("valid").sections, Section::ALL);
        for query in
            ["types=spo2,sleep", "types[]=spo2&types[]=sleep", "types=spo2&types=sleep", "types[0]=spo2&types[1]=sleep"]
        {
            let form = form(query).expect("valid");
            assert_eq!(
                (form.sections.as_slice(), form.include_slots),
                ([Section::Spo2, Section::Sleep].as_slice(), false)
            );
        }
        assert!(matches!(form("types=spo2,mood"), Err(PlatformError::Invalid(_))));
        assert!(matches!(form("include_slots=yes"), Err(PlatformError::Malformed { .. })));
        assert!(form("include_slots=1").expect("valid").include_slots);
    }

    #[tokio::test]
    async fn nothing_is_still_a_whole_answer() {
        let form = form("").expect("valid");
        let frame = Frame { before: b"{".to_vec(), after: b"}".to_vec(), by_patient: true };
        let answer = many_days(futures::stream::empty(), form, frame).await.expect("an answer");
        let bytes = axum::body::to_bytes(answer.into_body(), 100).await.expect("a body");
        assert_eq!(bytes, "{}");
    }

    #[tokio::test]
    async fn a_fault_at_the_beginning_is_an_error_and_a_later_one_breaks_off() {
        let fault = || Err(PlatformError::Internal("away".to_owned()));
        let frame = || Frame { before: b"[".to_vec(), after: b"]".to_vec(), by_patient: false };
        let at_once = futures::stream::iter([fault()]);
        assert!(many_days(at_once, form("").expect("valid"), frame()).await.is_err());
        let later = futures::stream::iter([Ok(Vec::new()), fault()]);
        let answer = many_days(later, form("").expect("valid"), frame()).await.expect("an answer");
        assert!(axum::body::to_bytes(answer.into_body(), 100).await.is_err());
    }
}
