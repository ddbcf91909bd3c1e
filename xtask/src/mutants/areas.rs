//! The code that is mutated: directories in which a mistake could give the same memory to two
//! users, and the tests that can detect such a mistake.

/// A directory, and the tests that are run on its mutants.
#[derive(Clone, Copy, Debug)]
pub(super) struct Area {
    /// The directory of the sources, relative to the root of the workspace.
    pub(super) directory: &'static str,
    /// The crate to which the sources belong.
    pub(super) package: &'static str,
    /// The crates whose tests are run.
    pub(super) tested_by: &'static [&'static str],
    pub(super) default_features: bool,
    /// Additional features of the crate that the tests need. cargo-mutants also builds the crate by
    /// itself.
    pub(super) features: &'static [&'static str],
    /// Tests that are skipped, given by a part of their names.
    pub(super) without: &'static [&'static str],
    /// The value of `POOL_TEST_CASES`, large enough that random programs detect every detectable
    /// mutant.
    pub(super) cases: u32,
    /// The compiler's optimisation level. It depends on whether compiling or testing takes more
    /// time.
    pub(super) opt_level: &'static str,
    /// The number of seconds to build and test a mutant on two cores.
    pub(super) seconds: u32,
}

/// The crates that test `pool-core`: its own tests, and those that use it from outside. The facade
/// tests what happens when foreign code calls back into a pool.
const AROUND_THE_CORE: &[&str] = &["pool-core", "pool-conformance", "pool-cpu", "pool-facade"];

/// All areas.
pub(super) const AREAS: &[Area] = &[
    Area {
        directory: "crates/pool-core/src/raw",
        package: "pool-core",
        tested_by: AROUND_THE_CORE,
        default_features: true,
        // The events that are sent to a subscriber.
        features: &["pool-core/tracing"],
        // These tests check compiler messages for incorrect programs, and take as long as all other
        // tests together.
        without: &["diagnostics::"],
        cases: 200,
        opt_level: "0",
        seconds: 16,
    },
    Area {
        directory: "crates/pool-core/src/dynamic",
        package: "pool-core",
        tested_by: AROUND_THE_CORE,
        default_features: true,
        // The events that are sent to a subscriber.
        features: &["pool-core/tracing"],
        // These tests check compiler messages for incorrect programs, and take as long as all other
        // tests together.
        without: &["diagnostics::"],
        cases: 200,
        opt_level: "0",
        seconds: 16,
    },
    Area {
        directory: "crates/pool-graph/src/ledger",
        package: "pool-graph",
        tested_by: &["pool-graph"],
        // This module does not use CUDA, and the bindings take longer to build than everything
        // else.
        default_features: false,
        features: &[],
        without: &[],
        cases: 500,
        opt_level: "1",
        seconds: 9,
    },
    Area {
        directory: "crates/pool-plan/src/validate",
        package: "pool-plan",
        tested_by: &["pool-plan"],
        default_features: true,
        features: &[],
        // These tests check the solvers and take half a minute. Small problems test the validator
        // better.
        without: &["traces::", "solving::", "captures::"],
        cases: 200,
        opt_level: "1",
        seconds: 9,
    },
];

impl Area {
    /// Returns the name of the area, as printed in reports.
    pub(super) fn name(&self) -> String {
        let last = self.directory.rsplit('/').next().unwrap_or_default();
        format!("{}-{last}", self.package)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::AREAS;

    #[test]
    fn every_area_is_a_directory_of_its_crate() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        for area in AREAS {
            assert!(root.join(area.directory).is_dir(), "{}", area.directory);
            assert!(area.directory.starts_with(&format!("crates/{}/src/", area.package)));
            assert!(area.tested_by.contains(&area.package), "its own tests come first");
            for package in area.tested_by {
                assert!(root.join("crates").join(package).is_dir(), "{package}");
            }
            assert!(area.cases > 0 && area.seconds > 0);
        }
    }

    #[test]
    fn what_is_left_out_is_there() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates");
        for area in AREAS {
            for part in area.without {
                let module = part.strip_suffix("::").unwrap();
                let is_in = |package| {
                    let suite = root.join(package).join("tests/suite");
                    suite.join(format!("{module}.rs")).is_file() || suite.join(module).is_dir()
                };
                assert!(area.tested_by.iter().any(is_in), "{part}");
            }
        }
    }

    #[test]
    fn names_differ() {
        let mut names: Vec<String> = AREAS.iter().map(super::Area::name).collect();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), AREAS.len());
    }
}
