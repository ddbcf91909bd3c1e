//! What the command prints. Who reads it may be gone, and a disk may be full: that is an error, and no panic.

use std::io::{self, Write as _};

use serde_json::Value;

use crate::printable::{printable, shortened};

/// Characters of a message that are printed: names in it may be of any length.
const MOST_SHOWN: usize = 4_096;

/// Prints a line on the standard output.
///
/// # Errors
///
/// When it cannot be written.
pub(crate) fn say(line: &str) -> io::Result<()> {
    let mut to = io::stdout().lock();
    writeln!(to, "{line}")?;
    to.flush()
}

/// Prints a line on the standard error, fit for a terminal. Where that cannot be written there is nobody to be told.
pub(crate) fn complain(message: &str) {
    let message = printable(&shortened(message, MOST_SHOWN));
    let _ = writeln!(io::stderr().lock(), "{message}");
}

/// Says what is wrong, and on the standard output, for programs, by an object of JSON where there is one.
pub(crate) fn refuse(object: Option<&Value>, message: &str) {
    if let Some(Err(error)) = object.map(|object| say(&object.to_string())) {
        complain_of_output(&error);
    }
    complain(&format!("error: {message}"));
}

/// Says that what was to be printed could not be.
pub(crate) fn complain_of_output(error: &io::Error) {
    complain(&format!("error: standard output: {error}"));
}
