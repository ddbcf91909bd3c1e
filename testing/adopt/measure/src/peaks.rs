//! The peak memory of processes that each do the work of one version.

use std::process::Command;

use crate::record::Peak;

/// Starts this program again for each version, and prints the peak memory of each process.
///
/// In a process that was started in this way, this function does the work of the version instead,
/// prints that process's peak, and returns `true`. The program must then end. Nothing is printed on
/// systems that do not report the peak.
///
/// # Panics
///
/// Panics if a process fails.
pub fn measure_peaks(work: impl FnOnce(&str)) -> bool {
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, flag, version] = &arguments[..]
        && flag == "--alone"
    {
        work(version);
        if let Some(kibibytes) = own_peak() {
            println!("{kibibytes}");
        }
        return true;
    }
    for version in ["original", "pool"] {
        if let Some(kibibytes) = peak(version) {
            println!("{}", Peak { version: version.to_owned(), kibibytes });
        }
    }
    false
}

/// Returns the peak memory of this process in kibibytes, if the system reports it.
fn own_peak() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

/// Returns the peak memory of a process that does the work of one version, in kibibytes. Returns
/// `None` if the system does not report it.
fn peak(version: &str) -> Option<u64> {
    let program = std::env::current_exe().ok()?;
    let printed = Command::new(program).args(["--alone", version]).output().ok()?;
    assert!(printed.status.success(), "{version} alone: {printed:?}");
    String::from_utf8(printed.stdout).ok()?.trim().parse().ok()
}
