//! Daily summaries as answers: what may be asked of them, and how many are written in one go.

use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use futures::Stream;
use platform::{DayParts, PatientDay, PlatformError, unknown_names};
use vitals::summary::Section;
use vitals::zone::LocalDay;

use crate::error::Result;
use crate::parameters::Parameters;
use crate::streamed::{Frame, streamed};

/// Days with slots that are written at once: each is some hundred kilobytes.
const DAYS_WITH_SLOTS: usize = 8;
/// Days without slots that are written at once.
const DAYS_WITHOUT_SLOTS: usize = 64;

/// The name of all figures beyond the specification, in `types` and in answers.
pub(crate) const EXTRA: &str = "extra";

/// Form in which days are shown.
#[derive(Clone, Debug)]
pub(crate) struct DayForm {
    /// Parts that are shown in addition to the sections.
    pub parts: DayParts,
    /// Sections that are shown.
    pub sections: Vec<Section>,
}

impl DayForm {
    /// Reads `include_slots` and `include_extra`; all sections are shown.
    pub fn of_all_sections(parameters: &Parameters) -> std::result::Result<Self, PlatformError> {
        let parts = DayParts { slots: parameters.flag("include_slots")?, extra: parameters.flag("include_extra")? };
        Ok(DayForm { parts, sections: Section::ALL.to_vec() })
    }

    /// Reads `include_slots`, `include_extra` and `types`. Without `types` all sections are shown; invalid when one is
    /// not known. `extra` among them shows the figures beyond the specification too.
    pub fn read(parameters: &Parameters) -> std::result::Result<Self, PlatformError> {
        let mut form = DayForm::of_all_sections(parameters)?;
        let mut names = parameters.list("types")?;
        let is_chosen = !names.is_empty();
        // `extra` is chosen like a section and is none: alone it leaves the sections empty.
        names.retain(|name| *name != EXTRA);
        form.parts.extra |= names.len() < parameters.list("types")?.len();
        let unknown: Vec<&str> = names.iter().copied().filter(|name| Section::from_name(name).is_none()).collect();
        if !unknown.is_empty() {
            let known = Section::ALL.iter().map(|section| section.name()).chain([EXTRA]);
            return Err(PlatformError::invalid("types", unknown_names(&unknown, known)));
        }
        if is_chosen {
            form.sections = names.into_iter().filter_map(Section::from_name).collect();
        }
        Ok(form)
    }

    /// Returns how many days are written at once.
    fn at_once(&self) -> usize {
        if self.parts.slots { DAYS_WITH_SLOTS } else { DAYS_WITHOUT_SLOTS }
    }
}

/// Returns a date in a path or a query. Invalid when it is not one.
pub(crate) fn date(field: &str, text: &str) -> std::result::Result<LocalDay, PlatformError> {
    LocalDay::parse(text).ok_or_else(|| PlatformError::invalid(field, "must be a date as YYYY-MM-DD"))
}

/// Returns a date in a query. Invalid when it is not there or not one.
pub(crate) fn required_date(
    parameters: &Parameters,
    field: &'static str,
) -> std::result::Result<LocalDay, PlatformError> {
    date(field, parameters.one(field).ok_or_else(|| PlatformError::invalid(field, "is required"))?)
}

/// Returns an answer of one day.
pub(crate) async fn one_day(day: PatientDay, form: DayForm) -> Result<Response> {
    // A day with slots is some hundred kilobytes of text.
    let written = runtime::blocking("write a day", move || {
        let mut out = Vec::new();
        day.write_json(&mut out, &form.sections);
        out
    });
    let out = written.await.map_err(|error| PlatformError::Internal(error.to_string()))?;
    Ok(([(CONTENT_TYPE, "application/json")], out).into_response())
}

/// Number of days in one answer.
pub(crate) enum Arrangement {
    /// An object with a member for each patient.
    ByPatient,
    /// Elements of a list in a frame.
    Listed(Frame),
}

/// Returns an answer of many days, which come batch by batch.
pub(crate) async fn many_days<Batches>(batches: Batches, form: DayForm, arrangement: Arrangement) -> Result<Response>
where
    Batches: Stream<Item = platform::Result<Vec<PatientDay>>> + Send + 'static,
{
    let at_once = form.at_once();
    let (frame, is_by_patient) = match arrangement {
        Arrangement::ByPatient => (Frame::object(), true),
        Arrangement::Listed(frame) => (frame, false),
    };
    let write = move |out: &mut Vec<u8>, day: PatientDay| {
        if is_by_patient {
            // A uuid needs no escaping.
            out.extend_from_slice(format!("\"{}\":", day.patient).as_bytes());
        }
        day.write_json(out, &form.sections);
        Ok(())
    };
    streamed(batches, frame, at_once, write).await
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
                (form.sections.as_slice(), form.parts),
                ([Section::Spo2, Section::Sleep].as_slice(), DayParts::default())
            );
        }
        assert!(matches!(form("types=spo2,mood"), Err(PlatformError::Invalid(_))));
        assert!(matches!(form("include_slots=yes"), Err(PlatformError::Malformed { .. })));
        assert!(form("include_slots=1").expect("valid").parts.slots);
        assert_eq!(form("include_extra=1").expect("valid").sections, Section::ALL);
        for (query, sections) in
            [("include_extra=1&types=spo2", 1), ("types=extra", 0), ("types[]=extra&types[]=spo2", 1)]
        {
            let form = form(query).expect("valid");
            assert!(form.parts.extra, "{query}");
            assert_eq!(form.sections.len(), sections, "{query}");
        }
    }
}
