//! The seeds through the targets: what CI runs of the fuzzing.

use super::seeds::files;
use super::*;

/// Runs all seeds of a target; those whose name begins with `valid` must be read, those with `invalid` refused, and
/// the others (inputs that once broke something) only must not panic.
fn run(target: &str, run: fn(&[u8]) -> Outcome) -> u64 {
    let mut good_rows = 0;
    for (name, bytes) in files(target) {
        let outcome = run(&bytes);
        assert!(!name.starts_with("valid") || outcome != Outcome::Refused, "{name} is refused");
        assert!(!name.starts_with("invalid") || outcome == Outcome::Refused, "{name} is read");
        if let Outcome::Read { good, .. } = outcome {
            good_rows += good;
        }
    }
    good_rows
}

#[test]
fn json_seeds_hold() {
    assert!(run("sync_json", sync_json) > 40);
}

#[test]
fn arrow_seeds_hold() {
    assert!(run("sync_arrow", sync_arrow) > 40);
}

#[test]
fn payload_seeds_hold() {
    assert!(run("payload", payload) > 40);
}

/// A poor man's fuzzing for machines without the instruments: each seed with each of its bytes changed or cut off.
#[test]
fn seeds_with_a_changed_byte_never_panic() {
    type Target = fn(&[u8]) -> Outcome;
    let targets: [(&str, Target); 3] = [("sync_json", sync_json), ("sync_arrow", sync_arrow), ("payload", payload)];
    let mut refused = 0;
    for (target, run) in targets {
        for seed in files(target).into_values() {
            for at in (0..seed.len()).step_by(seed.len() / 100 + 1) {
                let mut changed = seed.clone();
                changed[at] = changed[at].wrapping_add(1 + (at % 254) as u8);
                refused += u64::from(run(&changed) == Outcome::Refused);
                refused += u64::from(run(&seed[..at]) == Outcome::Refused);
            }
        }
    }
    assert!(refused > 500);
}
