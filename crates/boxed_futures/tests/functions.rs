//! Functions with the attribute are called and awaited as those without it.

use std::any::type_name_of_val;

use boxed_futures::boxed_futures;
use futures::FutureExt as _;

struct Service {
    words: Vec<String>,
}

struct Borrowed<'word>(&'word str);

#[boxed_futures]
impl Service {
    /// Returns a word that the service holds.
    pub async fn word(&self, place: usize) -> Option<&str> {
        self.words.get(place).map(String::as_str)
    }

    pub async fn is_word(&self, word: &str, Borrowed(end): Borrowed<'_>, test: fn(&str) -> bool) -> bool {
        let whole = format!("{word}{end}");
        std::future::ready(()).await;
        self.words.contains(&whole) && test(&whole)
    }

    pub async fn add(&mut self, mut words: Vec<String>) -> Result<usize, String> {
        if words.is_empty() {
            return Err("nothing to add".to_owned());
        }
        self.words.append(&mut words);
        Ok(self.words.len())
    }

    pub async fn any_type<T: ToString>(&self, word: T) -> bool {
        std::future::ready(self.words.contains(&word.to_string())).await
    }

    pub async fn anything(&self, word: impl ToString) -> bool {
        self.any_type(word).await
    }

    pub(crate) async fn inner(&self) -> usize {
        std::future::ready(self.words.len()).await
    }

    pub fn plain(&self) -> usize {
        self.words.len()
    }
}

/// Returns the output of a future that is ready at once.
fn answer_of<T>(future: impl Future<Output = T>) -> T {
    future.now_or_never().expect("an answer at once")
}

fn service() -> Service {
    Service { words: vec!["heart".to_owned()] }
}

fn is_boxed<T>(future: &T) -> bool {
    type_name_of_val(future).starts_with("core::pin::Pin<alloc::boxed::Box<dyn ")
}

#[test]
fn calls_and_answers_are_the_same() {
    let mut service = service();
    assert_eq!(answer_of(service.word(0)), Some("heart"));
    assert_eq!(answer_of(service.word(1)), None);
    let start = "hea".to_owned();
    assert!(answer_of(service.is_word(&start, Borrowed("rt"), |word| word.len() == 5)));
    assert_eq!(answer_of(service.add(vec!["rate".to_owned()])), Ok(2));
    assert_eq!(answer_of(service.add(Vec::new())), Err("nothing to add".to_owned()));
    assert_eq!(service.plain(), 2);
}

#[test]
fn public_functions_of_known_types_alone_are_boxed() {
    let service = service();
    assert!(is_boxed(&service.word(0)));
    assert!(is_boxed(&service.is_word("a", Borrowed("b"), str::is_empty)));
    assert!(!is_boxed(&service.any_type("a")));
    assert!(!is_boxed(&service.anything("a")));
    assert!(!is_boxed(&service.inner()));
}

#[test]
fn nothing_runs_before_it_is_awaited() {
    let mut service = service();
    drop(service.add(vec!["rate".to_owned()]));
    assert_eq!(service.plain(), 1);
}

#[test]
fn futures_can_be_sent() {
    fn assert_send(_: impl Send) {}
    assert_send(service().word(0));
}
