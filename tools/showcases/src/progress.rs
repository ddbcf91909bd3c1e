//! Bars of progress, which the demo has, too.

use indicatif::{ProgressBar, ProgressStyle};

/// A progress bar of a number of steps on a terminal, nothing elsewhere.
pub(crate) fn bar(steps: usize) -> ProgressBar {
    let bar = ProgressBar::new(steps as u64);
    if let Ok(style) = ProgressStyle::with_template("{msg:36} [{bar:30}] {percent:>3} %  {eta}") {
        bar.set_style(style.progress_chars("=> "));
    }
    bar
}
