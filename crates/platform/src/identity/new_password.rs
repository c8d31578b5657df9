//! Passwords that are not taken: too short, too long, or among the first that somebody else would try (NIST SP 800-63B,
//! 5.1.1.2): common ones, and those made of the account's own e-mail, names or voucher code.
//!
//! The library zxcvbn estimates how many guesses a password takes, from lists of common passwords, words and names, dates
//! and patterns of the keyboard. A short list of our own has what it does not know.

use std::sync::LazyLock;

use runtime::HashSet;

use crate::core::checks::faults_of;
use crate::core::error::{FieldFaults, PlatformError, Result};

const SHORTEST_PASSWORD: usize = 10;
/// Longer ones only cost work.
pub(crate) const LONGEST_PASSWORD: usize = 1024;
const FEWEST_DIFFERENT: usize = 4;
/// Shorter words are parts of many others.
const SHORTEST_OWN_WORD: usize = 4;
/// What has to be left of a password without the words of its owner: more than a year and a sign.
const FEWEST_OF_ITS_OWN: usize = 6;
const SERVICE: &str = "pulseward";
/// Fewest guesses, 10 to this power, that a password has to take. Below is what the library calls very guessable: common
/// passwords, and one common word with a number or a sign. Tries are slowed, so more is not asked for (NIST SP 800-63B wants
/// lists of common ones, and no measure of strength).
const FEWEST_GUESSES_LOG10: f64 = 6.0;
/// Characters that are estimated together: the work grows steeply with their number. A longer password takes at least the
/// guesses of each of its pieces.
const ESTIMATED: usize = 20;

/// Letters and digits of common passwords, in lower case, one a line, in addition to those that the library knows. Words
/// among them are as common with digits before or behind them.
static COMMON: LazyLock<HashSet<&str>> = LazyLock::new(|| include_str!("common_passwords.txt").lines().collect());

const COMMON_PASSWORD: &str = "must not be a common password or one word with digits, which others guess first: take four \
    words that do not belong together, or let a password manager make one";

/// What is known of the owner of a password, which others know as well: letters and digits of it.
#[derive(Clone, Default)]
pub(crate) struct OwnWords(Vec<String>);

impl OwnWords {
    /// Returns the words of what is known: e-mail, names, voucher code.
    pub(crate) fn of<'text>(known: impl IntoIterator<Item = Option<&'text str>>) -> Self {
        let mut words = Vec::new();
        for text in known.into_iter().flatten() {
            // Without its domain an e-mail is still the name.
            words.extend(text.split_once('@').map(|(local, _)| plain(local)));
            words.extend(text.split_whitespace().map(plain));
            words.push(plain(text));
        }
        words.push(SERVICE.to_owned());
        words.retain(|word| word.chars().count() >= SHORTEST_OWN_WORD);
        // The longest first: with a part of it taken away, a word would not be found any more.
        words.sort_by_key(|word| std::cmp::Reverse(word.len()));
        OwnWords(words)
    }

    /// Returns whether little is left of a password without these words.
    fn make_up(&self, password: &str) -> bool {
        let plain = plain(password);
        let rest = self.0.iter().fold(plain.clone(), |rest, word| rest.replace(word, ""));
        rest.len() < plain.len() && rest.chars().count() < FEWEST_OF_ITS_OWN
    }
}

/// Returns the letters and digits of a text, in lower case.
fn plain(text: &str) -> String {
    text.chars().filter(|letter| letter.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// Returns whether letters and digits are a common password, with digits around it or not, or a run of digits.
fn is_common(plain: &str) -> bool {
    let word = plain.trim_matches(|letter: char| letter.is_ascii_digit());
    // A list has not every year, nor every sign that a rule about signs has brought forth.
    COMMON.contains(plain) || COMMON.contains(word) || is_run(plain)
}

/// Returns whether a text is of digits that go up or down one by one, 0 after 9.
fn is_run(plain: &str) -> bool {
    let digits: Option<Vec<u32>> = plain.chars().map(|letter| letter.to_digit(10)).collect();
    digits.is_some_and(|digits| {
        let all_step = |step: u32| digits.windows(2).all(|pair| (pair[0] + step) % 10 == pair[1]);
        all_step(1) || all_step(9)
    })
}

/// Returns whether a password takes few guesses in each of its pieces, by someone who knows the words of its owner.
fn is_easily_guessed(password: &str, own: &OwnWords) -> bool {
    let known: Vec<&str> = own.0.iter().map(String::as_str).collect();
    let letters: Vec<char> = password.chars().collect();
    // Cut somewhere else, the second of two equal words would look like another one.
    let pieces = without_repetition(&letters).chunks(ESTIMATED);
    pieces
        .map(|piece| piece.iter().collect::<String>())
        .all(|piece| zxcvbn::zxcvbn(&piece, &known).guesses_log10() < FEWEST_GUESSES_LOG10)
}

/// Returns the shortest beginning that, repeated, gives the whole; the last time may be cut.
fn without_repetition(letters: &[char]) -> &[char] {
    let repeats = |length: &usize| letters.iter().zip(&letters[*length..]).all(|(earlier, later)| earlier == later);
    let length = (1..letters.len()).find(repeats).unwrap_or(letters.len());
    &letters[..length]
}

/// Invalid when a password is too short, absurdly long or easily guessed; `field` is what it came as.
pub(crate) fn check_new_password(field: &str, password: &str, own: &OwnWords) -> Result<()> {
    let length = password.chars().count();
    if length < SHORTEST_PASSWORD {
        return Err(PlatformError::invalid(field, "must have at least 10 characters"));
    }
    if length > LONGEST_PASSWORD {
        return Err(PlatformError::invalid(field, "must have at most 1024 characters"));
    }
    let different: HashSet<char> = password.chars().collect();
    if different.len() < FEWEST_DIFFERENT {
        return Err(PlatformError::invalid(field, "must have at least 4 different characters"));
    }
    if is_common(&plain(password)) {
        return Err(PlatformError::invalid(field, COMMON_PASSWORD));
    }
    if own.make_up(password) {
        let message = "must not be made of the account's e-mail, name or voucher code, or of the service's name";
        return Err(PlatformError::invalid(field, message));
    }
    // After what can say more exactly what is wrong.
    if is_easily_guessed(password, own) {
        return Err(PlatformError::invalid(field, COMMON_PASSWORD));
    }
    Ok(())
}

/// Returns what is wrong of a new password of anybody, as of a field.
pub fn new_password_faults(field: &str, password: &str) -> FieldFaults {
    faults_of(check_new_password(field, password, &OwnWords::default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grace() -> OwnWords {
        OwnWords::of([
            Some("grace.hopper@example.org"),
            Some("Grace"),
            Some("Brewster Hopper"),
            None,
            Some("K7QM-XW2P"),
        ])
    }

    fn fault(password: &str, own: &OwnWords) -> Option<String> {
        match check_new_password("new", password, own) {
            Err(PlatformError::Invalid(faults)) => Some(faults["new"].join(" ")),
            _ => None,
        }
    }

    #[test]
    fn each_of_the_list_is_refused_and_words_with_digits_around_them() {
        let assert_refused = |password: &str| {
            let fault = fault(&format!("{password:!<10}"), &OwnWords::default());
            assert!(fault.is_some(), "{password}");
        };
        for common in COMMON.iter() {
            assert_eq!(*common, plain(common));
            assert_refused(common);
            if !common.starts_with(|letter: char| letter.is_ascii_digit())
                && !common.ends_with(|letter: char| letter.is_ascii_digit())
            {
                assert_refused(&format!("{common}!2031!"));
                assert_refused(&format!("77{}##90", common.to_uppercase()));
            }
        }
    }

    #[test]
    fn password_that_begins_with_little_and_goes_on_with_much_is_taken() {
        let much = "wherever 7 herons wade";
        for little in ["0".repeat(20), "password".repeat(5), "1234567890".repeat(10)] {
            assert_eq!(fault(&format!("{little} {much}"), &grace()), None, "{little}");
            assert!(fault(&little, &grace()).is_some(), "{little}");
        }
    }

    #[test]
    fn common_passwords_are_refused_however_they_are_written() {
        for common in [
            "password123",
            "PassWord123",
            "Password-123",
            "Password 123!",
            "1234567890",
            "qwertyuiop",
            "Password1!",
            "Qwerty123!",
            "Password!!",
            "Welcome2031!",
            "12345678901234567890",
            "987654321098",
            "3rjs1la7qe",
            "18atcskd2w",
            "christopher",
            "barcelona1",
            "987654321q",
            "linkedin123",
            "thisispassword",
            "qwer1234qwer",
            "zaq12wsxcde3",
            "1qaz2wsx3edc",
            "Basketball7",
            "Spring2025!",
            "Liverpoolfc",
            "123123123a",
            "woaini1314",
            "g_czechout",
        ] {
            let fault = fault(common, &OwnWords::default()).unwrap_or_default();
            assert!(fault.contains("common"), "{common}: {fault}");
        }
        for repeated in ["aaaaaaaaaaaa", "ababababab", "121212121212"] {
            assert!(fault(repeated, &OwnWords::default()).is_some(), "{repeated}");
        }
    }

    #[test]
    fn passphrases_and_generated_passwords_are_taken() {
        for good in [
            "kiwi lamp rain shoe",
            "chosen by grace",
            "not the password",
            "xK9#mQ2$vL",
            "7fhq83kdla",
            "f7Qp2zX9wLk4",
            "jukr-ahne-wopf",
            "Brücke Ofen Zwerg Nuss",
            "日本語の長い合言葉です",
            "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        ] {
            assert_eq!(fault(good, &grace()), None, "{good}");
        }
    }

    #[test]
    fn estimate_of_the_longest_password_is_soon_done() {
        // Signs that may each be letters are what takes the estimate longest; the first use reads its lists.
        let worst_piece = "4@8({[<3691!|70$5+%2";
        fault("warm up the lists", &OwnWords::default());
        let times = (0..5).map(|_| {
            let begun = runtime::Instant::now();
            assert_eq!(fault(worst_piece, &grace()), None);
            begun.elapsed()
        });
        let pieces = u32::try_from(LONGEST_PASSWORD.div_ceil(ESTIMATED)).expect("few pieces");
        // The quickest, since other tests run meanwhile.
        let took = times.min().expect("some times") * pieces;
        println!("{took:?}");
        assert!(took.as_secs() < 10, "{took:?}");
    }

    #[test]
    fn what_others_know_of_the_owner_is_refused() {
        for own in [
            "grace.hopper@example.org",
            "Grace.Hopper1",
            "gracehopper1906",
            "hopper-grace!",
            "HopperHopper",
            "K7QM-XW2P-K7QM-XW2P",
            "k7qmxw2p2026",
            "Pulseward2026",
        ] {
            assert!(fault(own, &grace()).is_some_and(|fault| fault.contains("e-mail")), "{own}");
        }
    }

    #[test]
    fn long_passwords_may_hold_such_words() {
        for good in ["correct horse battery", "hopper likes nanoseconds", "another long password", "zqx7rt-pulseward"] {
            assert_eq!(fault(good, &grace()), None, "{good}");
        }
        assert_eq!(fault("grace.hopper@example.org", &OwnWords::default()), None, "of somebody else");
        assert!(fault("short", &grace()).is_some_and(|fault| fault.contains("10 characters")));
        assert!(fault(&"long ".repeat(300), &grace()).is_some_and(|fault| fault.contains("1024")));
    }
}
