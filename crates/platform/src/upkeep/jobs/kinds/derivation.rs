//! What is due of patients is derived.

use std::time::Duration;

use sha2::{Digest, Sha256};
use store::{DERIVE_KIND, JobKind, JobSubject};
use vitals::derivation::versions;

use crate::core::error::Result;
use crate::core::ids::hex;
use crate::core::work::Ended;
use crate::upkeep::jobs::job::{Job, Run, Spec, Turn};

/// Patients that a node holds at once: some are read and computed, others wait for their turn or for their commit.
const HELD_AT_ONCE: usize = 64;

/// Derives what is due of a patient.
pub(crate) struct Derive;

impl Job for Derive {
    const SPEC: Spec =
        Spec { at_once: HELD_AT_ONCE, longest: Duration::from_mins(30), ..Spec::new(DERIVE_KIND, Turn::PatientDue) };

    fn parse(_subject: &JobSubject) -> Option<Self> {
        Some(Derive)
    }

    async fn run(self, run: Run) -> Result<Ended> {
        run.upkeep.data.derive_held(&run.work).await
    }
}

/// Time after which a node looks again at a turn of other versions, which is for the nodes that have them.
const TURN_OF_OTHERS: Duration = Duration::from_mins(1);

/// Marks what other versions of the derivations have computed. The subject names the versions of the node that has started:
/// one of older versions would mark nothing for it, and end its turn.
pub(crate) struct DeriveAgain(JobSubject);

impl Job for DeriveAgain {
    const SPEC: Spec = Spec::new(JobKind::new("recompute_older_days"), Turn::AtStart);

    fn parse(subject: &JobSubject) -> Option<Self> {
        Some(DeriveAgain(subject.clone()))
    }

    fn at_start() -> JobSubject {
        // Short, since each line of the log of a job names its subject.
        JobSubject::new(hex(&Sha256::digest(versions())[..6]))
    }

    async fn run(self, run: Run) -> Result<Ended> {
        // Programs of before wrote an empty subject.
        if self.0 != JobSubject::none() && self.0 != Self::at_start() {
            return Ok(Ended::AgainIn(TURN_OF_OTHERS));
        }
        let patients = run.upkeep.data.mark_other_versions().await?;
        if patients > 0 {
            tracing::info!(patients, "what other versions of derivations have computed is computed again");
        }
        Ok(Ended::Done)
    }
}
