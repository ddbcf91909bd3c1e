//! The compiler and the machine of the figures, which depend on them.

use std::fs;
use std::process::Command;

use serde::{Deserialize, Serialize};

/// Compiler and machine.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Machine {
    /// `rustc --version`.
    pub(crate) compiler: String,
    /// The target that the compiler compiles for.
    pub(crate) target: String,
    /// The processor's own name, and the number of processors.
    pub(crate) processor: String,
    /// The setting of transparent huge pages.
    pub(crate) huge_pages: String,
    /// The load of the machine before and after, as its one-minute average.
    pub(crate) load: [String; 2],
}

impl Machine {
    /// Asks compiler and system.
    pub(crate) fn describe() -> Self {
        let verbose = compiler_says(&["--version", "--verbose"]);
        let target = verbose.lines().find_map(|line| line.strip_prefix("host: "));
        Self {
            compiler: compiler_says(&["--version"]),
            target: target.unwrap_or("unknown").to_owned(),
            processor: processor(),
            huge_pages: huge_pages(),
            load: [load(), String::new()],
        }
    }

    /// Notes the load once more.
    pub(crate) fn finish(&mut self) {
        self.load[1] = load();
    }
}

fn compiler_says(arguments: &[&str]) -> String {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc).args(arguments).output();
    output.map_or_else(
        |_| "unknown".to_owned(),
        |output| String::from_utf8_lossy(&output.stdout).trim().to_owned(),
    )
}

fn processor() -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let values = |key: &str| {
        let lines = text.lines().filter_map(|line| line.split_once(':'));
        lines
            .filter(|(name, _)| name.trim() == key)
            .map(|(_, value)| value.trim().to_owned())
            .collect::<Vec<_>>()
    };
    let names = values("model name");
    let (Some(name), Some(family)) = (names.first(), values("cpu family").first().cloned()) else {
        return "unknown".to_owned();
    };
    let mhz = values("cpu MHz").first().cloned().unwrap_or_default();
    let mhz = mhz.split('.').next().unwrap_or_default().to_owned();
    format!("{} × {name}, family {family}, {mhz} MHz", names.len())
}

/// Returns the bracketed word of the system's setting.
fn huge_pages() -> String {
    let path = "/sys/kernel/mm/transparent_hugepage/enabled";
    let text = fs::read_to_string(path).unwrap_or_default();
    let chosen = text.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    chosen.map_or("unknown", |(word, _)| word).to_owned()
}

fn load() -> String {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split_whitespace().next().unwrap_or("unknown").to_owned()
}
