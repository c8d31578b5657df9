//! The end of the audit log is signed once an hour.

use std::time::Duration;

use store::{JobKind, JobSubject};

use crate::core::error::Result;
use crate::core::work::Ended;
use crate::upkeep::jobs::job::{Job, Run, Spec, Turn};

/// Writes a checkpoint of the audit log, where it has grown.
pub(crate) struct SignAuditLog;

impl Job for SignAuditLog {
    const SPEC: Spec = Spec::new(JobKind::new("sign_audit_log"), Turn::Every(Duration::from_hours(1)));

    fn parse(_subject: &JobSubject) -> Option<Self> {
        Some(SignAuditLog)
    }

    async fn run(self, run: Run) -> Result<Ended> {
        run.upkeep.write_checkpoint().await?;
        Ok(Ended::Done)
    }
}
