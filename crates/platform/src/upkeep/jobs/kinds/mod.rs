//! The one list of background tasks.

mod audit;
mod deletion;
mod derivation;
mod expiry;
mod export;
mod identity;
mod integrity;
mod merging;
mod outbox;
mod retention;
mod sealing;
mod silence;
mod unit;
mod verification;

use super::job::Kind;

/// Every kind, those that somebody waits for first: claims are made in this order.
pub(crate) const ALL: &[Kind] = &[
    Kind::of::<derivation::Derive>(),
    Kind::of::<export::Export>(),
    Kind::of::<outbox::DeliverMessages>(),
    Kind::of::<derivation::DeriveAgain>(),
    Kind::of::<silence::NoteSilence>(),
    Kind::of::<merging::PlanMerging>(),
    Kind::of::<merging::Merge>(),
    Kind::of::<sealing::PlanSealing>(),
    Kind::of::<sealing::Seal>(),
    Kind::of::<verification::VerifyRows>(),
    Kind::of::<retention::PlanRetention>(),
    Kind::of::<retention::EnforceRetention>(),
    Kind::of::<expiry::PlanExpiry>(),
    Kind::of::<expiry::ExpireExport>(),
    Kind::of::<expiry::ExpireEvents>(),
    Kind::of::<deletion::PlanDeletion>(),
    Kind::of::<deletion::FindLostObjects>(),
    Kind::of::<deletion::DeleteObject>(),
    Kind::of::<deletion::PlanErasureChecks>(),
    Kind::of::<deletion::CheckErasure>(),
    Kind::of::<deletion::OverwriteErased>(),
    Kind::of::<identity::TidyIdentity>(),
    Kind::of::<integrity::LookAtDamagedFiles>(),
    Kind::of::<audit::SignAuditLog>(),
    Kind::of::<integrity::Scrub>(),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn kinds_have_names_of_their_own_that_can_be_labels() {
        let names: BTreeSet<&str> = ALL.iter().map(|kind| kind.spec.kind.name()).collect();
        assert_eq!(names.len(), ALL.len());
        assert!(
            names.iter().all(|name| name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')),
            "{names:?}"
        );
    }
}
