//! Archives whose programs are shell scripts, and the script's runs on them.

use std::fmt;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

/// Returns the lines of a manifest with the needs; no processor is that of this machine.
fn needs(driver: &str, capability: &str, glibc: &str, processor: &str) -> String {
    let processor = if processor.is_empty() { std::env::consts::ARCH } else { processor };
    let lines = [
        ("driver", driver),
        ("capability", capability),
        ("glibc", glibc),
        ("processor", processor),
    ];
    lines.map(|(name, value)| format!("  \"needs_{name}\": \"{value}\",\n")).concat()
}

/// The PATH of a machine without Rust.
const BARE_PATH: &str = "/usr/bin:/bin";

/// An archive before it is written.
#[derive(Clone, Debug)]
pub(crate) struct Fake {
    probe: String,
    tests: Vec<(String, String)>,
    bench: Option<String>,
    nextest: Option<String>,
    counted: usize,
    damaged: bool,
    needs: String,
}

/// The end of a run.
#[derive(Debug)]
pub(crate) struct Run {
    directory: TempDir,
    pub(crate) code: i32,
    pub(crate) output: String,
    pub(crate) errors: String,
}

/// Returns the shells to try: the machine's `sh`, and `dash`.
pub(crate) fn shells() -> Vec<&'static str> {
    if installed("dash") {
        return vec!["sh", "dash"];
    }
    println!("SKIPPED: dash is not installed");
    vec!["sh"]
}

/// Returns `true` if a bare machine would find this program here.
pub(crate) fn installed(program: &str) -> bool {
    BARE_PATH.split(':').any(|directory| Path::new(directory).join(program).is_file())
}

impl Fake {
    /// Creates an archive with a device, and nothing to run on it.
    pub(crate) fn new() -> Self {
        let probe = r#"printf '%s\n' 'device: Fake "3000" \ Ti' 'libcuda: /usr/lib/libcuda.so.1'"#;
        Self {
            probe: probe.to_owned(),
            tests: Vec::new(),
            bench: None,
            nextest: None,
            counted: 0,
            damaged: false,
            needs: needs("13.0", "7.5", "2.0", ""),
        }
    }

    /// Sets this as its probe.
    pub(crate) fn probe(mut self, script: &str) -> Self {
        script.clone_into(&mut self.probe);
        self
    }

    /// Adds one more test.
    pub(crate) fn test(mut self, name: &str, script: &str) -> Self {
        self.tests.push((name.to_owned(), script.to_owned()));
        self
    }

    /// Adds a bench.
    pub(crate) fn bench(mut self, script: &str) -> Self {
        self.bench = Some(script.to_owned());
        self
    }

    /// Sets this as the `cargo-nextest` beside it.
    pub(crate) fn nextest(mut self, script: &str) -> Self {
        self.nextest = Some(script.to_owned());
        self
    }

    /// Makes the manifest count this number of tests.
    pub(crate) fn counts(mut self, tests: usize) -> Self {
        self.counted = tests;
        self
    }

    /// Makes the manifest need this driver, capability, C library and processor.
    pub(crate) fn needing(
        mut self,
        driver: &str,
        capability: &str,
        glibc: &str,
        cpu: &str,
    ) -> Self {
        self.needs = needs(driver, capability, glibc, cpu);
        self
    }

    /// Leaves the needs out of the manifest.
    pub(crate) fn without_needs(mut self) -> Self {
        self.needs.clear();
        self
    }

    /// Adds a program that is not as in the manifest.
    pub(crate) fn damaged(mut self) -> Self {
        self.damaged = true;
        self
    }

    /// Runs the script on the archive.
    pub(crate) fn run(&self, shell: &str, arguments: &[&str]) -> Run {
        self.run_on(shell, "archive.tar.gz", arguments)
    }

    /// Runs the script on a file beside the archive.
    pub(crate) fn run_on(&self, shell: &str, file: &str, arguments: &[&str]) -> Run {
        let directory = tempfile::tempdir().unwrap();
        self.pack(directory.path());
        // The report of an earlier run.
        fs::create_dir(directory.path().join("report")).unwrap();
        fs::write(directory.path().join("report/gpu-report.json"), "{}").unwrap();
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scripts/gpu-run.sh");
        let output = Command::new(shell)
            .arg(script)
            .arg(file)
            .args(arguments)
            .args(["--out", "report"])
            .current_dir(directory.path())
            .env_clear()
            .env("PATH", BARE_PATH)
            .env("SIMCUDA_SEED", "1")
            .env("CUDA_SIM_SEED", "1")
            .env("DRIVER_CONFORMANCE_SIMULATOR", "1")
            .output()
            .unwrap();
        Run {
            code: output.status.code().unwrap_or(-1),
            output: String::from_utf8_lossy(&output.stdout).into_owned(),
            errors: String::from_utf8_lossy(&output.stderr).into_owned(),
            directory,
        }
    }

    fn pack(&self, directory: &Path) {
        let inside = directory.join("inside");
        fs::create_dir_all(inside.join("workspace/crates/fake")).unwrap();
        fs::create_dir_all(inside.join("target")).unwrap();
        let mut programs = vec![("probe", "target/probe", self.probe.clone())];
        if !self.tests.is_empty() {
            programs.push(("test", "target/suite", self.suite()));
        }
        programs.extend(self.bench.clone().map(|script| ("bench", "target/bench", script)));
        let mut table = String::new();
        for (purpose, path, script) in programs {
            write_program(&inside.join(path), &script);
            let sum = if self.damaged { "0".repeat(64) } else { sha256(&inside.join(path)) };
            table += &format!("{purpose}\tcrates/fake\t{sum}\t{path}\n");
        }
        fs::write(inside.join("binaries.tsv"), table).unwrap();
        let manifest = format!(
            "{{\n  \"commit\": \"c0ffee\",\n  \"dirty\": true,\n{}  \"gpu_tests\": {}\n}}\n",
            self.needs, self.counted
        );
        fs::write(inside.join("manifest.json"), manifest).unwrap();
        if let Some(script) = &self.nextest {
            write_program(&directory.join("cargo-nextest"), script);
            fs::create_dir(inside.join("nextest")).unwrap();
            fs::write(inside.join("nextest/binaries-metadata.json"), "{}").unwrap();
        }
        let mut tar = Command::new("tar");
        tar.arg("-czf").arg(directory.join("archive.tar.gz")).arg("-C").arg(&inside).arg(".");
        assert!(tar.status().unwrap().success());
    }

    /// Returns a program that lists and runs its tests as Rust's test harness does.
    fn suite(&self) -> String {
        let mut list = String::new();
        let mut cases = String::new();
        for (name, script) in &self.tests {
            list += &format!("echo '{name}: test'\n");
            cases += &format!("{name}) {script} ;;\n");
        }
        format!("if [ \"$1\" = --list ]; then\n{list}exit 0\nfi\ncase $2 in\n{cases}esac\n")
    }
}

fn write_program(path: &Path, script: &str) {
    use std::os::unix::fs::PermissionsExt;
    fs::write(path, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Returns the sum; an empty one if it cannot be taken: the script then cannot check it either.
fn sha256(path: &Path) -> String {
    if !installed("sha256sum") {
        return String::new();
    }
    let output = Command::new("sha256sum").arg(path).output().unwrap();
    String::from_utf8(output.stdout).unwrap()[..64].to_owned()
}

impl Run {
    /// Returns the last line that is no complaint.
    pub(crate) fn last_line(&self) -> &str {
        self.output.lines().last().unwrap_or_default()
    }

    /// Returns the report, which must be JSON.
    pub(crate) fn report(&self) -> Value {
        let file = self.directory.path().join("report/gpu-report.json");
        serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap()
    }

    /// Returns the report in the form that CI systems read.
    pub(crate) fn junit(&self) -> String {
        fs::read_to_string(self.directory.path().join("report/junit.xml")).unwrap()
    }

    /// Returns `true` if the report has this file or directory.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.directory.path().join("report").join(name).exists()
    }
}

impl fmt::Display for Run {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "ended with {}\n{}\n{}", self.code, self.output, self.errors)
    }
}
