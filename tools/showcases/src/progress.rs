//! Progress bars, which the demo also uses.

use indicatif::{ProgressBar, ProgressStyle};

/// Returns a progress bar with this many steps. It is only shown on a terminal.
pub(crate) fn bar(steps: usize) -> ProgressBar {
    let bar = ProgressBar::new(steps as u64);
    if let Ok(style) = ProgressStyle::with_template("{msg:36} [{bar:30}] {percent:>3} %  {eta}") {
        bar.set_style(style.progress_chars("=> "));
    }
    bar
}
