//! Starts the simulator before `main` if the environment requests it. This affects every program
//! that names this crate.

use crate::options::is_asked_for;
use crate::start::try_start;
use crate::{exit, loader};

// SAFETY: functions in this section are called before `main`, and need no arguments.
// The function may run at that time, because the C library is initialised and the standard library
// needs no initialisation.
#[used]
#[unsafe(link_section = ".init_array")]
static BEFORE_MAIN: extern "C" fn() = before_main;

/// Starts the simulator. If this fails, prints the error and ends the process, because tests must
/// not run on another driver.
extern "C" fn before_main() {
    let started = match is_asked_for() {
        Ok(false) => return,
        Ok(true) => try_start().map(drop),
        Err(error) => Err(error.into()),
    };
    if let Err(error) = started {
        eprintln!("cuda-sim-test: {error}");
        loader::end(exit::EXIT_CODE);
    }
}
