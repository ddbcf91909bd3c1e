//! Copies of directories.

use std::fs;
use std::path::Path;

/// Copies a directory, and replaces an earlier copy.
///
/// # Errors
///
/// Fails if a file cannot be read or written.
pub fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    if to.exists() {
        fs::remove_dir_all(to)?;
    }
    copy_into(from, to)
}

fn copy_into(from: &Path, to: &Path) -> std::io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_into(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::copy;

    #[test]
    fn a_copy_has_what_the_directory_has_and_nothing_older() {
        let directory = tempfile::tempdir().unwrap();
        let (from, to) = (directory.path().join("from"), directory.path().join("to"));
        fs::create_dir_all(from.join("src")).unwrap();
        fs::write(from.join("src/lib.rs"), "fn one() {}").unwrap();
        fs::create_dir_all(&to).unwrap();
        fs::write(to.join("older"), "").unwrap();
        copy(&from, &to).unwrap();
        assert_eq!(fs::read_to_string(to.join("src/lib.rs")).unwrap(), "fn one() {}");
        assert!(!to.join("older").exists());
    }
}
