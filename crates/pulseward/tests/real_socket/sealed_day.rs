//! A study whose one patient has a day of signals and series in sealed files.

use tempfile::{TempDir, tempdir};

use crate::exports::send_day;
use crate::harness::{Patient, Researcher, Service, store_command};

/// The study. To be taken apart with the folder first: what is bound first goes last, and the service needs it.
pub struct SealedDay {
    /// Where the store lies.
    pub data: TempDir,
    /// The service on it.
    pub service: Service,
    /// Who has the study.
    pub researcher: Researcher,
    /// Whose day it is.
    pub patient: Patient,
}

impl SealedDay {
    /// Starts a service on a new store, and sends and seals the day.
    pub async fn begin() -> Self {
        let data = tempdir().unwrap();
        let service = Service::start(data.path());
        let researcher = Researcher::new(data.path(), &service.url).await;
        let patient = researcher.enrol().await;
        send_day(&researcher, &patient).await;
        store_command(data.path(), &["seal", "--now"]);
        SealedDay { data, service, researcher, patient }
    }
}
