//! The output of the command. The reader may have closed it, and a disk may be full: these are
//! errors, not panics.

use std::io::{self, Write as _};

use serde_json::Value;

use crate::printable::{printable, shortened};

/// The maximum number of printed characters of a message: names in it may be of any length.
const MOST_SHOWN: usize = 4_096;

/// Prints a line on the standard output.
///
/// # Errors
///
/// Fails if it cannot be written.
pub(crate) fn say(line: &str) -> io::Result<()> {
    let mut to = io::stdout().lock();
    writeln!(to, "{line}")?;
    to.flush()
}

/// Prints a line on the standard error, fit for a terminal. A failure to write it is ignored.
pub(crate) fn complain(message: &str) {
    let message = printable(&shortened(message, MOST_SHOWN));
    let _ = writeln!(io::stderr().lock(), "{message}");
}

/// Prints an error, and on the standard output a JSON object for programs, if there is one.
pub(crate) fn refuse(object: Option<&Value>, message: &str) {
    if let Some(Err(error)) = object.map(|object| say(&object.to_string())) {
        complain_of_output(&error);
    }
    complain(&format!("error: {message}"));
}

/// Prints that the output could not be written.
pub(crate) fn complain_of_output(error: &io::Error) {
    complain(&format!("error: standard output: {error}"));
}
