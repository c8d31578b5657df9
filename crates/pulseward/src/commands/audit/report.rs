//! What verifying the audit log has found, for programs and for people.

use platform::{AuditReport, ComparedCheckpoints};
use serde_json::{Value, json};
use store::SealState;

use crate::values::iso;

/// Returns the report of `audit verify`.
pub fn report_json(report: &AuditReport) -> Value {
    let AuditReport { entries, first_broken, end, public_key: (public_key, key_id), stored, kept } = report;
    let seal = end.seal.as_ref();
    let mut found = json!({
        "entries": entries,
        "intact": report.is_intact(),
        "head": {
            "number": end.number,
            "state": end.state,
            "sealed_from": seal.map(|seal| seal.from),
            "sealed_at": seal.map(|seal| iso(seal.at_ms)),
            "sealed_by": seal.map(|seal| &seal.by),
        },
        "checkpoints": compared_json(stored),
        "key_id": key_id,
        "public_key": public_key,
    });
    if let Some(first_broken) = first_broken {
        found["first_broken"] = (*first_broken).into();
    }
    if let Some(kept) = kept {
        found["against"] = compared_json(kept);
    }
    found
}

fn compared_json(compared: &ComparedCheckpoints) -> Value {
    let ComparedCheckpoints { agreeing, last, faulty, faults } = compared;
    let fault =
        |(name, fault): &(String, platform::CheckpointFault)| json!({"checkpoint": name, "fault": fault.name()});
    json!({
        "agreeing": agreeing,
        "last": last.as_ref().map(|(number, time)| json!({"number": number, "time": time})),
        "faulty": faulty,
        "faults": faults.iter().map(fault).collect::<Vec<Value>>(),
    })
}

/// Returns what is wrong with the log, in sentences; nothing of one that is intact.
pub fn problems(report: &AuditReport) -> Vec<String> {
    let mut problems = Vec::new();
    if let Some(first) = report.first_broken {
        problems.push(format!("entry {first} is missing or not what was written"));
    }
    let number = report.end.number;
    match report.end.state {
        SealState::Sealed => {}
        SealState::Altered => problems.push(format!("its end, entry {number}, is not what the service wrote")),
        SealState::OtherKey => problems.push("its end was written with another master key".to_owned()),
        SealState::Unsealed => problems.push(
            "no key guards its end; the next start of the service seals it, as `pulseward migrate` does, and from then on \
             the checkpoints say whether it was ever sealed before"
                .to_owned(),
        ),
    }
    for compared in [Some(&report.stored), report.kept.as_ref()].into_iter().flatten() {
        if let Some((name, fault)) = compared.faults.first() {
            let faulty = compared.faulty;
            problems
                .push(format!("checkpoints that do not agree with it: {faulty}, such as {name} ({})", fault.name()));
        }
    }
    problems
}
