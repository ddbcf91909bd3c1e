//! Determines what a machine needs to run the programs in an archive. The C library version is read
//! from each program's version table, and the driver and device from the kernels.
//!
//! A kernel that is stored as PTX contains the version of its language, and a driver refuses a
//! version that it does not know. The driver must support every kernel's version, and must be new
//! enough for captured graphs.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::elf;
use super::programs::Packed;
use crate::TaskError;

/// A version as two numbers. The first number is compared first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(crate) struct Version(u32, u32);

/// The requirements. Each is one line in a manifest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Needs {
    /// The processor, as `uname -m` prints it.
    pub(crate) needs_processor: String,
    /// The version of the GNU C library.
    pub(crate) needs_glibc: Version,
    /// The CUDA version of the driver.
    pub(crate) needs_driver: Version,
    /// The compute capability of the device.
    pub(crate) needs_capability: Version,
}

/// The CUDA version of the oldest driver that captures graphs for `pool-graph`.
const GRAPHS: Version = Version(12, 3);

/// The PTX version that each CUDA version introduced, from CUDA 12.0 on.
const PTX_OF_CUDA: &[(Version, Version)] = &[
    (Version(8, 0), Version(12, 0)),
    (Version(8, 1), Version(12, 1)),
    (Version(8, 2), Version(12, 2)),
    (Version(8, 3), Version(12, 3)),
    (Version(8, 4), Version(12, 4)),
    (Version(8, 5), Version(12, 5)),
    (Version(8, 6), Version(12, 7)),
    (Version(8, 7), Version(12, 8)),
    (Version(8, 8), Version(12, 9)),
    (Version(9, 0), Version(13, 0)),
    (Version(9, 1), Version(13, 1)),
];

/// The start of a kernel's text, immediately before its version.
const PTX_VERSION: &[u8] = b".version ";
const PTX_TARGET: &[u8] = b".target sm_";

/// The requirements that a kernel's text contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Kernel {
    language: Version,
    capability: Version,
}

impl Needs {
    /// Reads the requirements from the programs.
    ///
    /// # Errors
    ///
    /// Fails if no program contains a version of the C library, or if a kernel has a PTX version
    /// that the table lacks.
    pub(super) fn of(packed: &[Packed]) -> Result<Self, TaskError> {
        let glibc = packed.iter().filter_map(|one| elf::needed_glibc(&one.bytes)).max();
        let (major, minor) = glibc.ok_or("no program requires a version of the GNU C library")?;
        let mut driver = GRAPHS;
        let kernels: BTreeSet<Kernel> = packed.iter().flat_map(|one| kernels(&one.bytes)).collect();
        for kernel in &kernels {
            driver = driver.max(cuda_with(kernel.language)?);
        }
        let capability = kernels.iter().map(|kernel| kernel.capability).max();
        Ok(Self {
            needs_processor: std::env::consts::ARCH.to_owned(),
            needs_glibc: Version(major, minor),
            needs_driver: driver,
            needs_capability: capability.unwrap_or(Version(0, 0)),
        })
    }
}

impl Version {
    /// Returns the version in the driver's format: 13.0 is 13000.
    pub(crate) fn number(self) -> u32 {
        self.0 * 1000 + self.1 * 10
    }
}

/// Returns the CUDA version that introduced a PTX version. PTX versions before CUDA 12.0 count as
/// 11.0, because no supported driver is older.
fn cuda_with(language: Version) -> Result<Version, TaskError> {
    if language < Version(8, 0) {
        return Ok(Version(11, 0));
    }
    let known = PTX_OF_CUDA.iter().find(|(own, _)| *own == language).map(|(_, cuda)| *cuda);
    Ok(known.ok_or_else(|| {
        format!("PTX {language} is not in PTX_OF_CUDA: add the CUDA version that introduced it")
    })?)
}

/// Returns the kernels whose texts a program contains.
fn kernels(bytes: &[u8]) -> Vec<Kernel> {
    let windows = bytes.windows(PTX_VERSION.len()).enumerate();
    let starts = windows.filter(|(_, window)| *window == PTX_VERSION);
    starts.filter_map(|(start, _)| kernel(&bytes[start + PTX_VERSION.len()..])).collect()
}

/// Parses `9.0`, the end of the line, and `.target sm_75`.
fn kernel(text: &[u8]) -> Option<Kernel> {
    let (version, rest) = line(text)?;
    let (target, _) = line(rest.strip_prefix(PTX_TARGET)?)?;
    // The number may be followed by a letter and by more words.
    let digits: String = target.chars().take_while(char::is_ascii_digit).collect();
    let number: u32 = digits.parse().ok()?;
    let capability = Version(number / 10, number % 10);
    Some(Kernel { language: Version::try_from(version.to_owned()).ok()?, capability })
}

/// Returns the first line if it is short, and the bytes after it.
fn line(text: &[u8]) -> Option<(&str, &[u8])> {
    let end = text.iter().take(64).position(|byte| *byte == b'\n')?;
    Some((std::str::from_utf8(&text[..end]).ok()?.trim_end(), &text[end + 1..]))
}

impl fmt::Display for Version {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.{}", self.0, self.1)
    }
}

impl From<Version> for String {
    fn from(version: Version) -> Self {
        version.to_string()
    }
}

impl TryFrom<String> for Version {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let parts = text
            .split_once('.')
            .and_then(|(major, minor)| Some(Self(major.parse().ok()?, minor.parse().ok()?)));
        parts.ok_or_else(|| format!("{text} is not a version with two numbers"))
    }
}

/// Formats the requirements for the person who creates the archive.
impl fmt::Display for Needs {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { needs_processor, needs_glibc, needs_driver, needs_capability } = self;
        write!(
            formatter,
            "needs a driver for CUDA {needs_driver}, compute capability {needs_capability}, \
             glibc {needs_glibc}, {needs_processor}"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::{Kernel, Version, cuda_with, kernels};

    #[test]
    fn a_kernel_says_what_it_needs() {
        let text =
            b"\0x.version 9.0\n.target sm_75\n.address\0 .version 8.4\r\n.target sm_90a, debug\n";
        let found = kernels(text);
        let kernel = |language, capability| Kernel { language, capability };
        assert_eq!(
            found,
            [kernel(Version(9, 0), Version(7, 5)), kernel(Version(8, 4), Version(9, 0))]
        );
        // A text that mentions kernels is not a kernel, and neither is a text that is cut off.
        assert!(kernels(b".version of PTX\n.target sm_75\n").is_empty());
        assert!(kernels(b".version 9.0\n.target sm_75").is_empty());
        assert!(kernels(b".version 9.0").is_empty());
    }

    #[test]
    fn versions_become_those_of_cuda() {
        assert_eq!(cuda_with(Version(9, 0)).unwrap(), Version(13, 0));
        assert_eq!(cuda_with(Version(6, 0)).unwrap(), Version(11, 0));
        assert!(cuda_with(Version(99, 0)).unwrap_err().to_string().contains("PTX 99.0"));
    }

    #[test]
    fn versions_are_ordered_as_numbers_and_read_back() {
        assert!(Version(12, 10) > Version(12, 9) && Version(13, 0) > Version(12, 10));
        assert_eq!(Version::try_from("2.34".to_owned()), Ok(Version(2, 34)));
        assert!(Version::try_from("2".to_owned()).is_err());
    }
}
