//! The versions of the GNU C library that a program needs, by the table of needed versions in its
//! file. The dynamic loader reads this table before it starts a program, and refuses to start it if
//! one is missing.

/// The type of the section with needed versions, `SHT_GNU_verneed`.
const VERSION_NEEDS: u32 = 0x6fff_fffe;
/// The flag of a version that the loader does not require, `VER_FLG_WEAK`.
const WEAK: u16 = 2;
/// The prefix of the names of these versions.
const NAME: &str = "GLIBC_";

/// A section of the file.
#[derive(Clone, Copy)]
struct Section {
    kind: u32,
    offset: usize,
    link: usize,
    entries: usize,
}

/// Returns the newest version that the loader requires, as major and minor number. Returns `None`
/// if the file is no 64-bit program in little-endian order, or needs no version.
pub(super) fn needed_glibc(file: &[u8]) -> Option<(u32, u32)> {
    if !file.starts_with(b"\x7fELF\x02\x01") {
        return None;
    }
    let (start, size, count) =
        (number(file, 0x28, 8)?, number(file, 0x3a, 2)?, number(file, 0x3c, 2)?);
    let at = |index: usize| section(file, start.checked_add(index.checked_mul(size)?)?);
    let sections: Vec<Section> = (0..count).filter_map(at).collect();
    let needs = sections.iter().find(|section| section.kind == VERSION_NEEDS)?;
    let names = sections.get(needs.link)?;
    names_of(file, needs)?
        .filter_map(|name| version(text(file, names.offset.checked_add(name)?)?))
        .max()
}

fn section(file: &[u8], at: usize) -> Option<Section> {
    Some(Section {
        kind: u32::try_from(number(file, at.checked_add(4)?, 4)?).ok()?,
        offset: number(file, at.checked_add(24)?, 8)?,
        link: number(file, at.checked_add(40)?, 4)?,
        entries: number(file, at.checked_add(44)?, 4)?,
    })
}

/// Returns where the names of all versions begin that are not weak: libraries, and versions of
/// each.
fn names_of(file: &[u8], needs: &Section) -> Option<impl Iterator<Item = usize>> {
    let mut names = Vec::new();
    let mut library = needs.offset;
    for _ in 0..needs.entries {
        let versions = number(file, library.checked_add(2)?, 2)?;
        let mut one = library.checked_add(number(file, library.checked_add(8)?, 4)?)?;
        for _ in 0..versions {
            let flags = u16::try_from(number(file, one.checked_add(4)?, 2)?).ok()?;
            if flags & WEAK == 0 {
                names.push(number(file, one.checked_add(8)?, 4)?);
            }
            one = one.checked_add(number(file, one.checked_add(12)?, 4)?)?;
        }
        library = library.checked_add(number(file, library.checked_add(12)?, 4)?)?;
    }
    Some(names.into_iter())
}

/// Reads this many bytes as a number.
fn number(file: &[u8], at: usize, bytes: usize) -> Option<usize> {
    let field = file.get(at..at.checked_add(bytes)?)?;
    let mut number = [0; 8];
    number[..bytes].copy_from_slice(field);
    usize::try_from(u64::from_le_bytes(number)).ok()
}

/// Returns the text that begins there and ends with a zero.
fn text(file: &[u8], at: usize) -> Option<&str> {
    std::str::from_utf8(file.get(at..)?.split(|byte| *byte == 0).next()?).ok()
}

/// Parses `GLIBC_2.34`, and `GLIBC_2.2.5` without its last part; not `GLIBC_PRIVATE` or `GCC_3.0`.
fn version(name: &str) -> Option<(u32, u32)> {
    let mut parts = name.strip_prefix(NAME)?.split('.');
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::{needed_glibc, version};

    #[test]
    fn names_of_other_libraries_are_no_versions_of_glibc() {
        assert_eq!(version("GLIBC_2.34"), Some((2, 34)));
        assert_eq!(version("GLIBC_2.2.5"), Some((2, 2)));
        assert_eq!(version("GLIBC_PRIVATE"), None);
        assert_eq!(version("GCC_4.2.0"), None);
    }

    #[test]
    fn what_is_no_program_needs_nothing() {
        assert_eq!(needed_glibc(b""), None);
        assert_eq!(needed_glibc(b"#!/bin/sh\n"), None);
        // Only the header, whose table of sections lies beyond the end.
        let mut header = [0xff; 64];
        header[..6].copy_from_slice(b"\x7fELF\x02\x01");
        assert_eq!(needed_glibc(&header), None);
    }

    #[cfg(all(target_os = "linux", target_env = "gnu", target_pointer_width = "64"))]
    #[test]
    fn this_program_needs_no_more_than_there_is() {
        let file = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        let needed = needed_glibc(&file).unwrap();
        let asked = std::process::Command::new("getconf").arg("GNU_LIBC_VERSION").output().unwrap();
        let answer = String::from_utf8(asked.stdout).unwrap();
        let here = version(&answer.trim().replace("glibc ", "GLIBC_")).unwrap();
        assert!((2, 2) <= needed && needed <= here, "{needed:?} {here:?}");
        // However it is cut, the file is refused or has fewer versions, and is never read beyond
        // its end.
        for end in (0..file.len()).step_by(file.len() / 64 + 1) {
            assert!(needed_glibc(&file[..end]).is_none_or(|found| found <= needed));
        }
    }
}
