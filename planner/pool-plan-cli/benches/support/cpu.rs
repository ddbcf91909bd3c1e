//! The CPU time of this process, of a thread and of commands. Planners are compared by CPU time,
//! because other work on the machine affects it little.

use std::error::Error;
use std::path::Path;
use std::process::{Command, Stdio};

/// Creates a command that the system terminates after a number of seconds of CPU time.
pub(crate) fn limited(path: &Path, seconds: u64) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", &format!("ulimit -t {seconds}; exec \"$@\""), "sh"]).arg(path);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// Returns the number that follows the given words in a text.
pub(crate) fn number_after(text: &str, words: &str) -> Option<u64> {
    let rest = text.split(words).nth(1)?.trim_start();
    let end = rest.find(|character: char| !character.is_ascii_digit())?;
    rest[..end].parse().ok()
}

/// The owner of the CPU time.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Whose {
    /// All commands that have run so far.
    Commands,
    /// This process.
    Process,
    /// The calling thread.
    #[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "only Linux provides it"))]
    Thread,
}

/// Returns the CPU time in seconds.
#[cfg(target_os = "linux")]
pub(crate) fn seconds(whose: Whose) -> Result<f64, Box<dyn Error>> {
    use nix::sys::resource::{UsageWho, getrusage};
    use nix::sys::time::TimeValLike;

    let usage = getrusage(match whose {
        Whose::Commands => UsageWho::RUSAGE_CHILDREN,
        Whose::Process => UsageWho::RUSAGE_SELF,
        Whose::Thread => UsageWho::RUSAGE_THREAD,
    })?;
    let micros = usage.user_time().num_microseconds() + usage.system_time().num_microseconds();
    Ok(micros as f64 / 1e6)
}

/// Only Linux reports the CPU time of a thread.
#[cfg(not(target_os = "linux"))]
pub(crate) fn seconds(whose: Whose) -> Result<f64, Box<dyn Error>> {
    Err(format!("this benchmark needs Linux, which reports the CPU time of {whose:?}").into())
}
