//! What becomes of a token that is to be refreshed: the same rule for both clouds and for OAuth.

use crate::ids::SessionId;

/// The token that takes another's place.
#[derive(Clone, Debug)]
pub struct Successor {
    /// Identity.
    pub id: SessionId,
    /// Now, ms.
    pub issued_ms: i64,
    /// Time at which it ends by itself, ms.
    pub expires_ms: i64,
}

/// What a refresh came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refreshed<T> {
    /// There is a new token.
    Done(T),
    /// The token or its family has ended, or there was none such.
    Ended,
    /// The time within which it could be refreshed is over.
    Late,
    /// It had been replaced before: someone has a copy, and its family has been ended.
    Reused,
}

/// The times of a token, ms, that say whether it may be replaced.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_field_names, reason = "every time says its unit")]
pub(crate) struct TokenTimes {
    pub ended_ms: Option<i64>,
    pub refresh_until_ms: i64,
    pub replaced_ms: Option<i64>,
}

/// Returns whether a token may be replaced at a time. One that was replaced less than `grace_ms` ago may be replaced
/// again, because the answer to the first time can have been lost; with 0 there is no such grace.
pub(crate) fn verdict(token: TokenTimes, now_ms: i64, grace_ms: i64) -> Refreshed<()> {
    let TokenTimes { ended_ms, refresh_until_ms, replaced_ms } = token;
    if ended_ms.is_some() {
        return Refreshed::Ended;
    }
    // Before the end of its time: a copy that comes late is still a copy, and its family has to end.
    if replaced_ms.is_some_and(|replaced_ms| (now_ms - replaced_ms).max(0) >= grace_ms) {
        return Refreshed::Reused;
    }
    if now_ms >= refresh_until_ms {
        return Refreshed::Late;
    }
    Refreshed::Done(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_replaced_in_time_and_again_only_within_the_grace() {
        let cases = [
            (None, None, 99, Refreshed::Done(())),
            (None, None, 100, Refreshed::Late),
            (Some(45), None, 50, Refreshed::Ended),
            (None, Some(40), 49, Refreshed::Done(())),
            (None, Some(40), 50, Refreshed::Reused),
            (Some(45), Some(40), 90, Refreshed::Ended),
            (None, Some(40), 200, Refreshed::Reused),
        ];
        for (ended_ms, replaced_ms, now_ms, expected) in cases {
            let token = TokenTimes { ended_ms, refresh_until_ms: 100, replaced_ms };
            assert_eq!(verdict(token, now_ms, 10), expected, "{token:?} {now_ms}");
        }
    }

    #[test]
    fn without_a_grace_it_is_always_too_late() {
        for now_ms in [30, 40, 50] {
            let token = TokenTimes { ended_ms: None, refresh_until_ms: 100, replaced_ms: Some(40) };
            assert_eq!(verdict(token, now_ms, 0), Refreshed::Reused);
        }
    }
}
