//! The output of the command. If the reader has closed the output or a disk is full, the command
//! reports an error and does not panic.

use std::io::{self, Write as _};

use serde_json::Value;

use crate::printable::{printable, shortened};

/// The maximum number of characters of a message that are printed, because names in a message may
/// have any length.
const MOST_SHOWN: usize = 4_096;

/// Prints a line on the standard output.
///
/// # Errors
///
/// Fails if the line cannot be written.
pub(crate) fn say(line: &str) -> io::Result<()> {
    let mut to = io::stdout().lock();
    writeln!(to, "{line}")?;
    to.flush()
}

/// Prints a line on the standard error, in a form that is safe for a terminal. If the line cannot
/// be written, the failure is ignored.
pub(crate) fn complain(message: &str) {
    let message = printable(&shortened(message, MOST_SHOWN));
    let _ = writeln!(io::stderr().lock(), "{message}");
}

/// Prints an error. If a JSON object is given, the function also prints it on the standard output,
/// for programs.
pub(crate) fn refuse(object: Option<&Value>, message: &str) {
    if let Some(Err(error)) = object.map(|object| say(&object.to_string())) {
        complain_of_output(&error);
    }
    complain(&format!("error: {message}"));
}

/// Reports that the output could not be written.
pub(crate) fn complain_of_output(error: &io::Error) {
    complain(&format!("error: standard output: {error}"));
}
