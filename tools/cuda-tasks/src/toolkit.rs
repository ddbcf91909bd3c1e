//! The pinned CUDA compilers and headers.

use std::path::{Path, PathBuf};

use tasks::TaskError;

use crate::wheels::Wheels;

/// The package that contains the compilers.
const COMPILERS: Wheels = Wheels {
    name: "toolkit",
    pins: include_str!("toolkit.txt"),
    file: concat!(env!("CARGO_MANIFEST_DIR"), "/src/toolkit.txt"),
};
/// The package with CUDA C++ headers, for sources that include more than the compiler's built-in
/// headers.
const HEADERS: Wheels = Wheels {
    name: "headers",
    pins: include_str!("headers.txt"),
    file: concat!(env!("CARGO_MANIFEST_DIR"), "/src/headers.txt"),
};

/// The paths of the compilers.
#[derive(Clone, Debug)]
pub struct Toolkit {
    /// The library that compiles C++ to PTX.
    pub compiler: PathBuf,
    /// The library that the compiler opens by name.
    pub builtins: PathBuf,
    /// The program that assembles PTX to machine code.
    pub assembler: PathBuf,
}

impl Toolkit {
    /// Returns the compilers in the target directory, and downloads them if necessary. The inner
    /// error states why they are not available.
    ///
    /// # Errors
    ///
    /// Fails if a package differs from the pinned one, or if the downloaded files cannot be moved
    /// to their directory.
    pub fn obtain(target: &Path) -> Result<Result<Self, String>, TaskError> {
        match COMPILERS.obtain(target)? {
            Ok(directory) => Self::of(&directory).map(Ok),
            Err(why) => Ok(Err(why)),
        }
    }

    fn of(directory: &Path) -> Result<Self, TaskError> {
        let file = |path: &str| existing(&directory.join("nvidia").join(path), Path::is_file);
        Ok(Self {
            compiler: file("cuda_nvrtc/lib/libnvrtc.so.12")?,
            builtins: file("cuda_nvrtc/lib/libnvrtc-builtins.so.12.0")?,
            assembler: file("cuda_nvcc/bin/ptxas")?,
        })
    }
}

/// Returns the directory of the headers. The inner error states why it is not available.
///
/// # Errors
///
/// Fails if the package differs from the pinned one, or if it cannot be moved to its directory.
pub fn headers(target: &Path) -> Result<Result<PathBuf, String>, TaskError> {
    match HEADERS.obtain(target)? {
        Ok(directory) => {
            existing(&directory.join("nvidia/cuda_runtime/include"), Path::is_dir).map(Ok)
        }
        Err(why) => Ok(Err(why)),
    }
}

fn existing(path: &Path, is_there: fn(&Path) -> bool) -> Result<PathBuf, TaskError> {
    if is_there(path) {
        return Ok(path.to_owned());
    }
    Err(format!("{} is missing: remove the directory that pip created for it", path.display())
        .into())
}

#[cfg(test)]
mod tests {
    use super::{COMPILERS, HEADERS};

    #[test]
    fn every_pin_has_a_version_and_a_sum() {
        for (wheels, version, count) in [(COMPILERS, "==12.0.140", 2), (HEADERS, "==12.0.146", 1)] {
            let pins = wheels.pins.lines().filter(|line| !line.starts_with('#'));
            let pins: Vec<&str> = pins.collect();
            assert_eq!(pins.len(), count);
            for pin in pins {
                let (package, sum) = pin.split_once(" --hash=sha256:").unwrap();
                assert!(package.ends_with(version), "{package}");
                let is_sum = sum.len() == 64 && sum.chars().all(|digit| digit.is_ascii_hexdigit());
                assert!(is_sum, "{sum}");
            }
        }
    }
}
