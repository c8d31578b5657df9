//! What becomes of a token that is to be refreshed: the same rule for both clouds and for OAuth.

use crate::ids::SessionId;

/// The token that takes another's place.
#[derive(Clone, Debug)]
pub struct Successor {
    /// Identity.
    pub id: SessionId,
    /// Now, ms.
    pub issued_ms: i64,
    /// When it ends by itself, ms.
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

/// Whether a token may be replaced at a time. One that was replaced less than `grace_ms` ago may be replaced again,
/// because the answer to the first time can have been lost; with 0 there is no such grace.
pub(crate) fn verdict(
    ended: bool,
    refresh_until_ms: i64,
    replaced_ms: Option<i64>,
    now_ms: i64,
    grace_ms: i64,
) -> Refreshed<()> {
    if ended {
        return Refreshed::Ended;
    }
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
            (false, None, 99, Refreshed::Done(())),
            (false, None, 100, Refreshed::Late),
            (true, None, 50, Refreshed::Ended),
            (false, Some(40), 49, Refreshed::Done(())),
            (false, Some(40), 50, Refreshed::Reused),
            (true, Some(40), 90, Refreshed::Ended),
            (false, Some(40), 200, Refreshed::Reused),
        ];
        for (ended, replaced_ms, now_ms, expected) in cases {
            assert_eq!(verdict(ended, 100, replaced_ms, now_ms, 10), expected, "{ended} {replaced_ms:?} {now_ms}");
        }
    }

    #[test]
    fn without_a_grace_it_is_always_too_late() {
        for now_ms in [30, 40, 50] {
            assert_eq!(verdict(false, 100, Some(40), now_ms, 0), Refreshed::Reused);
        }
    }
}
