//! The crates to which a pool is added, the smallest first.

/// A crate, and how it is tested.
#[derive(Debug)]
pub(crate) struct Adoption {
    /// The crate's name in the registry, which is also the directory of its patches.
    pub(crate) name: &'static str,
    /// The version to which the patches apply.
    pub(crate) version: &'static str,
    /// The modified versions of the crate, each defined by a patch. The version with the pool is
    /// first, and is the only one that runs the crate's own tests.
    pub(crate) versions: &'static [&'static str],
    /// Other packages that the patch changes. They have the same version as the crate, and each is
    /// copied into a directory of the patched copy.
    pub(crate) parts: &'static [&'static str],
    /// `true` if `tests.patch` adds files that the tests need and that the package does not
    /// contain. It is applied to both copies.
    pub(crate) tests_are_patched: bool,
    /// The first part of the names of the tests of the code that the patch replaces. The patch
    /// also replaces these tests, so they are not compared.
    pub(crate) replaced_tests: Option<&'static str>,
    /// Additional arguments for `cargo test`.
    pub(crate) test_arguments: &'static [&'static str],
    /// `true` if the crate's tests need unstable compiler features.
    pub(crate) tests_are_unstable: bool,
}

impl Adoption {
    /// Returns the name and version in the form that cargo uses for directories.
    pub(crate) fn package(&self) -> String {
        format!("{}-{}", self.name, self.version)
    }
}

const fn adoption(name: &'static str, version: &'static str) -> Adoption {
    Adoption {
        name,
        version,
        versions: &["pool"],
        parts: &[],
        tests_are_patched: false,
        replaced_tests: None,
        test_arguments: &[],
        tests_are_unstable: false,
    }
}

/// All crates. `cargo xtask adopt --only-small` uses the first.
pub(crate) const ADOPTIONS: &[Adoption] = &[
    Adoption {
        versions: &["pool", "bumpalo", "bump-scope", "kept"],
        ..adoption("bspline", "1.1.0")
    },
    adoption("strsim", "0.11.1"),
    adoption("ndarray-ndimage", "0.6.0"),
    Adoption {
        // Tests of the `text` feature include a font that the package does not contain.
        test_arguments: &["--no-default-features", "--features", "rayon,fft"],
        tests_are_unstable: true,
        ..adoption("imageproc", "0.27.0")
    },
    Adoption { versions: &["pool", "kept"], ..adoption("ode_solvers", "0.6.2") },
    adoption("mdarray-linalg-faer", "0.2.1"),
    Adoption {
        // The other tests take long to build and do not use the patched code.
        test_arguments: &["--test", "conv_tests", "--test", "matmul_tests"],
        ..adoption("candle-core", "0.11.1")
    },
    Adoption {
        // The tests of the transforms. The other tests take long to build and do not use the
        // patched code.
        test_arguments: &["--lib", "fft"],
        ..adoption("numr", "0.14.0")
    },
    Adoption {
        parts: &["rten-tensor", "rten-gemm", "rten-shape-inference"],
        tests_are_patched: true,
        replaced_tests: Some("buffer_pool::tests::"),
        test_arguments: &["--lib", "--features", "all-ops"],
        ..adoption("rten", "0.27.0")
    },
];

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::ADOPTIONS;
    use crate::adopt::patch::Patch;

    /// If there is no registry, no other test detects a missing patch.
    #[test]
    fn every_adoption_has_its_patches_and_its_program() {
        let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testing/adopt");
        for adoption in ADOPTIONS {
            let directory = kept.join(adoption.name);
            assert_eq!(adoption.versions[0], "pool", "{}", adoption.name);
            for version in adoption.versions {
                let patch = Patch::read(&directory.join(format!("{version}.patch"))).unwrap();
                assert!(patch.lines().added > 0, "{} {version}", adoption.name);
            }
            let has_test_patch = directory.join("tests.patch").is_file();
            assert_eq!(has_test_patch, adoption.tests_are_patched, "{}", adoption.name);
            let manifest = std::fs::read_to_string(directory.join("Cargo.toml")).unwrap();
            assert!(manifest.contains(&format!("\"={}\"", adoption.version)), "{}", adoption.name);
            assert!(
                directory.join("Cargo.lock").is_file() && directory.join("src/main.rs").is_file()
            );
        }
    }
}
