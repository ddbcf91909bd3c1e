//! The mutated code, as data: the directories where a mistake could give the same memory to two
//! users, and the tests that can notice one.

/// A directory, and the tests that judge a mutant of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Area {
    /// The directory of the sources, from the root of the workspace.
    pub(super) directory: &'static str,
    /// The crate that they are of.
    pub(super) package: &'static str,
    /// The crates whose tests judge a mutant.
    pub(super) tested_by: &'static [&'static str],
    pub(super) default_features: bool,
    /// Further features that the tests need, of the crate itself: cargo-mutants builds it alone,
    /// too.
    pub(super) features: &'static [&'static str],
    /// Tests that are left out, by a part of their names.
    pub(super) without: &'static [&'static str],
    /// `POOL_TEST_CASES`: enough random programs that a noticeable mutant is noticed.
    pub(super) cases: u32,
    /// The compiler's optimisation level: either the compiler or the tests take most of the time.
    pub(super) opt_level: &'static str,
    /// The seconds that a mutant takes on two cores, building and testing.
    pub(super) seconds: u32,
}

/// Crates that test `pool-core`: its own tests, and those that test it from outside. The facade's tests are about
/// foreign code that calls a pool again.
const AROUND_THE_CORE: &[&str] = &["pool-core", "pool-conformance", "pool-cpu", "pool-facade"];

/// All areas.
pub(super) const AREAS: &[Area] = &[
    Area {
        directory: "crates/pool-core/src/raw",
        package: "pool-core",
        tested_by: AROUND_THE_CORE,
        default_features: true,
        // The events for a subscriber.
        features: &["pool-core/tracing"],
        // They check a compiler's messages about wrong programs, for as long as all others
        // together.
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
        // The events for a subscriber.
        features: &["pool-core/tracing"],
        // They check a compiler's messages about wrong programs, for as long as all others
        // together.
        without: &["diagnostics::"],
        cases: 200,
        opt_level: "0",
        seconds: 16,
    },
    Area {
        directory: "crates/pool-graph/src/book",
        package: "pool-graph",
        tested_by: &["pool-graph"],
        // The book does not use CUDA, and its bindings take longer to build than all else.
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
        // They test the solvers for half a minute; small problems test the validator more.
        without: &["traces::", "solving::", "captures::"],
        cases: 200,
        opt_level: "1",
        seconds: 9,
    },
];

impl Area {
    /// Returns the name of the area in reports.
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
