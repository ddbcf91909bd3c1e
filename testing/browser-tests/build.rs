//! Gathers the tests of other crates' suites: copies of their files, in which a test is an ordinary
//! function, and the table of all tests. A `#[cfg]` in the suites leaves out tests that no browser
//! can run.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a failing build script panics")]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

/// The modules of a crate's suite.
struct Suite {
    /// The name of the suite here.
    name: &'static str,
    /// The directory, relative to this crate.
    directory: &'static str,
    modules: &'static [&'static str],
    /// Lines for the module of the suite.
    imports: &'static str,
}

/// The suites. The tests left out need other threads, calls of wgpu that are refused at once, a
/// compiler, or features of crates.
const SUITES: [Suite; 4] = [
    Suite {
        name: "cpu",
        directory: "../../crates/pool-cpu/tests/suite",
        modules: &["conformance", "mem_stack"],
        imports: "",
    },
    Suite {
        name: "facade",
        directory: "../../crates/pool-facade/tests/suite",
        modules: &["guards", "local_pools", "repetition", "support"],
        imports: "",
    },
    Suite {
        name: "wgpu",
        directory: "../../crates/pool-wgpu/tests/suite",
        modules: &[
            "bytes",
            "conformance",
            "faults",
            "kernels",
            "limits",
            "lost",
            "reading",
            "support",
        ],
        imports: "",
    },
    Suite {
        name: "kernels",
        directory: "../wgpu-tests/tests/kernels",
        modules: &["bounds", "device", "planes", "prefix_sum", "vectors"],
        imports: "use crate::wgpu::support::messages;",
    },
];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if env::var("CARGO_CFG_TARGET_ARCH").unwrap() != "wasm32" {
        return;
    }
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap());
    let mut copies = Copies { suite: "", tests: String::new() };
    let mut modules = String::new();
    for Suite { name, directory, modules: of_suite, imports } in SUITES {
        println!("cargo::rerun-if-changed={directory}");
        copies.suite = name;
        let (from, to) = (Path::new(directory), out.join(name));
        fs::create_dir_all(&to).unwrap();
        writeln!(modules, "pub(crate) mod {name} {{ {imports}").unwrap();
        for module in of_suite {
            let path = copies.copy(&format!("{name}::{module}"), from, &to, module);
            writeln!(modules, "#[path = {path:?}] pub(crate) mod {module};").unwrap();
        }
        modules.push_str("}\n");
    }
    let tests = copies.tests;
    let tests = format!("{modules}\npub(crate) const TESTS: &[Test] = &[\n{tests}];\n");
    fs::write(out.join("tests.rs"), tests).unwrap();
}

struct Copies {
    suite: &'static str,
    /// The lines of the table.
    tests: String,
}

impl Copies {
    /// Copies a module, which is a file or a directory of files, and adds its tests to the table.
    /// Returns the path of its copy.
    fn copy(&mut self, module: &str, from: &Path, to: &Path, stem: &str) -> PathBuf {
        let directory = from.join(stem);
        let file = if directory.is_dir() {
            let to = to.join(stem);
            fs::create_dir_all(&to).unwrap();
            for entry in fs::read_dir(&directory).unwrap() {
                let path = entry.unwrap().path();
                let stem = path.file_stem().unwrap().to_str().unwrap();
                if stem != "mod" {
                    self.copy(&format!("{module}::{stem}"), &directory, &to, stem);
                }
            }
            format!("{stem}/mod.rs")
        } else {
            format!("{stem}.rs")
        };
        let text = fs::read_to_string(from.join(&file)).unwrap();
        let target = to.join(&file);
        fs::write(&target, self.as_plain_functions(module, &text)).unwrap();
        target
    }

    /// Rewrites a file so that its tests are plain functions, and its messages go to the report.
    fn as_plain_functions(&mut self, module: &str, text: &str) -> String {
        let mut copy = String::new();
        let mut attributes: Option<Vec<&str>> = None;
        for line in text.lines() {
            match (&mut attributes, line.strip_prefix("fn ")) {
                (None, _) if line == "#[test]" => attributes = Some(Vec::new()),
                (None, _) => writeln!(copy, "{line}").unwrap(),
                (Some(of_test), None) => of_test.push(line),
                (Some(of_test), Some(rest)) => {
                    let name = rest.split('(').next().unwrap();
                    let panic = of_test.iter().find(|one| one.starts_with("#[should_panic"));
                    let panic = panic.map(|one| one.split('"').nth(1).unwrap_or_default());
                    // The others are for Miri.
                    of_test.retain(|one| one.starts_with("#[cfg("));
                    let gates = of_test.join(" ");
                    writeln!(copy, "{gates} pub(crate) fn {rest}").unwrap();
                    let run = format!("|| check({panic:?}, || crate::{module}::{name}())");
                    let test = format!("Test {{ name: \"{module}::{name}\", run: {run} }}");
                    writeln!(self.tests, "    {gates} {test},").unwrap();
                    attributes = None;
                }
            }
        }
        // The table uses the modules from outside the suite.
        let copy = copy.replace("\nmod ", "\npub(crate) mod ");
        let copy = copy.replace("crate::", &format!("crate::{}::", self.suite));
        copy.replace(" println!(", " crate::say!(")
    }
}
