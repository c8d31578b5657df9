//! Progress of work that takes long: a bar on a terminal, and where there is none a line every few seconds.

use std::fmt::Write as _;
use std::io::{IsTerminal as _, Result, stderr};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle, TermLike};
use runtime::Instant;

/// Time between two lines where standard error is no terminal.
const LINE_EVERY: Duration = Duration::from_secs(5);
/// Time between two drawings of a bar by itself, so that a single long step is reported too.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Columns of a line; longer ones are cut.
const COLUMNS: u16 = 120;

/// Returns a bar that shows itself on a terminal, and as lines elsewhere.
pub fn progress_bar() -> ProgressBar {
    let bar = ProgressBar::no_length();
    if stderr().is_terminal() {
        return with_template(bar, "{msg:20} {wide_bar} {pos}/{len} {eta:>4}");
    }
    bar.set_draw_target(ProgressDrawTarget::term_like(Box::new(Lines::every(LINE_EVERY))));
    let bar = with_template(bar, "{msg}: {steps}");
    bar.enable_steady_tick(LOOK_EVERY);
    bar
}

/// Gives a bar its form. The templates are constants; a bar without one is as useful.
fn with_template(bar: ProgressBar, template: &str) -> ProgressBar {
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style.with_key("steps", write_steps));
    }
    bar
}

/// Writes how many steps of how many are done, as far as it is known.
fn write_steps(state: &ProgressState, out: &mut dyn std::fmt::Write) {
    // A line that is not written whole is none that anybody needs.
    let _ = match state.len() {
        Some(all) => write!(out, "{} of {all}", state.pos()),
        None => write!(out, "{}", state.pos()),
    };
}

/// A stand-in for the terminal where there is none: of all that it draws a line is written now and then.
#[derive(Debug)]
struct Lines {
    every: Duration,
    drawn: Mutex<Drawn>,
}

#[derive(Debug)]
struct Drawn {
    text: String,
    /// Time of the last line, or of the beginning: what is quickly done needs none.
    written: Instant,
}

impl Lines {
    fn every(every: Duration) -> Self {
        Lines { every, drawn: Mutex::new(Drawn { text: String::new(), written: Instant::now() }) }
    }

    /// Returns the line to be written, when it is time for one and something was drawn.
    fn due(&self) -> Option<String> {
        let mut drawn = self.drawn.lock().unwrap_or_else(PoisonError::into_inner);
        let text = std::mem::take(&mut drawn.text);
        let line = text.trim();
        if line.is_empty() || drawn.written.elapsed() < self.every {
            return None;
        }
        drawn.written = Instant::now();
        Some(line.to_owned())
    }
}

impl TermLike for Lines {
    fn width(&self) -> u16 {
        COLUMNS
    }

    fn move_cursor_up(&self, _lines: usize) -> Result<()> {
        Ok(())
    }

    fn move_cursor_down(&self, _lines: usize) -> Result<()> {
        Ok(())
    }

    fn move_cursor_right(&self, _columns: usize) -> Result<()> {
        Ok(())
    }

    fn move_cursor_left(&self, _columns: usize) -> Result<()> {
        Ok(())
    }

    fn write_line(&self, text: &str) -> Result<()> {
        self.write_str(text)
    }

    fn write_str(&self, text: &str) -> Result<()> {
        let mut drawn = self.drawn.lock().unwrap_or_else(PoisonError::into_inner);
        // Writing to a string cannot fail.
        let _ = write!(drawn.text, "{text}");
        Ok(())
    }

    fn clear_line(&self) -> Result<()> {
        Ok(())
    }

    /// Comes at the end of each drawing.
    fn flush(&self) -> Result<()> {
        if let Some(line) = self.due() {
            eprintln!("{line}");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(lines: &Lines, text: &str) -> Option<String> {
        lines.write_str("\r").unwrap();
        lines.write_str(text).unwrap();
        lines.write_str("    ").unwrap();
        lines.due()
    }

    #[tokio::test(start_paused = true)]
    async fn lines_come_at_most_so_often_and_none_before_the_first_while() {
        let lines = Lines::every(Duration::from_millis(200));
        assert_eq!(drawn(&lines, "sealing: 1"), None);
        runtime::sleep(Duration::from_millis(250)).await;
        assert_eq!(drawn(&lines, "sealing: 2 of 9").as_deref(), Some("sealing: 2 of 9"));
        assert_eq!(drawn(&lines, "sealing: 3 of 9"), None);
        runtime::sleep(Duration::from_millis(250)).await;
        assert_eq!(drawn(&lines, ""), None, "a bar that is cleared draws nothing");
        assert_eq!(drawn(&lines, "sealing: 4 of 9").as_deref(), Some("sealing: 4 of 9"));
    }
}
