//! The test modules of the package.

use std::fs;
use std::path::Path;

use tasks::TaskError;

/// Returns the paths of the modules, relative to the test directory, in order and separated by `/`.
///
/// # Errors
///
/// Fails if a directory cannot be read, or if a name is not Unicode.
pub(super) fn all(tests: &Path) -> Result<Vec<String>, TaskError> {
    let mut found = Vec::new();
    let mut directories = vec![String::new()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(tests.join(&directory))? {
            let entry = entry?;
            let name = entry.file_name().into_string();
            let name = name.map_err(|name| format!("not a module name: {name:?}"))?;
            if entry.file_type()?.is_dir() {
                directories.push(format!("{directory}{name}/"));
            } else if name.starts_with("test_") && name.ends_with(".py") {
                found.push(format!("{directory}{name}"));
            }
        }
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::all;

    #[test]
    fn files_of_tests_are_found_in_every_directory() {
        let tests = std::env::temp_dir().join(format!("pool-numba-modules-{}", std::process::id()));
        fs::create_dir_all(tests.join("b/c")).unwrap();
        for file in ["test_z.py", "b/test_a.py", "b/c/test_d.py", "b/support.py", "b/test_a.txt"] {
            fs::write(tests.join(file), "").unwrap();
        }
        let found = all(&tests);
        fs::remove_dir_all(&tests).unwrap();
        assert_eq!(found.unwrap(), ["b/c/test_d.py", "b/test_a.py", "test_z.py"]);
    }
}
