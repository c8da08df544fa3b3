//! Progress on stderr, for a person at a terminal only.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// A bar that counts bytes; it is hidden where nobody would see it.
pub struct Progress {
    bar: ProgressBar,
}

impl Progress {
    /// Starts at zero of `total` bytes.
    #[must_use]
    pub fn bytes(shown: bool, what: &'static str, total: u64) -> Self {
        Self::begin(shown, what, total, "{msg}  {bar:30}  {bytes} of {total_bytes}")
    }

    /// Starts at zero of `total` things.
    #[must_use]
    pub fn count(shown: bool, what: &'static str, total: u64) -> Self {
        Self::begin(shown, what, total, "{msg}  {bar:30}  {pos} of {len}")
    }

    fn begin(shown: bool, what: &'static str, total: u64, form: &str) -> Self {
        let bar = ProgressBar::with_draw_target(
            Some(total),
            if shown { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() },
        );
        if let Ok(style) = ProgressStyle::with_template(form) {
            bar.set_style(style);
        }
        bar.set_message(what);
        Self { bar }
    }

    /// Adds to what is done.
    pub fn add(&self, done: u64) {
        self.bar.inc(done);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
