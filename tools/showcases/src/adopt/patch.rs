//! Reads a unified diff, counts the lines that it adds and removes, and applies it to a copy of a
//! crate. Patches have one line of context, which is enough to detect everywhere that a patch does
//! not apply.

use std::fmt;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use thiserror::Error;

/// A patch that has been read.
#[derive(Debug)]
pub(crate) struct Patch {
    file: PathBuf,
    lines: Lines,
    hunks: Vec<Hunk>,
}

/// How many lines a patch adds and removes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Lines {
    pub(crate) added: usize,
    pub(crate) removed: usize,
}

/// A part of a file that a patch changes.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Hunk {
    /// The path, relative to the root of the crate.
    file: String,
    /// The number of the hunk's first line in the original file, including context.
    line: usize,
}

/// Why a patch could not be applied.
#[derive(Debug, Error)]
pub(crate) enum PatchError {
    #[error("git applies the patches, but it is not installed")]
    NoGit,
    #[error("git cannot be started")]
    Git(#[source] std::io::Error),
    #[error("{} cannot be read", patch.display())]
    Unreadable { patch: PathBuf, source: std::io::Error },
    #[error("{} does not fit {package}: hunk {number} of {file}, at line {line}", patch.display())]
    DoesNotFit { patch: PathBuf, package: String, file: String, number: usize, line: usize },
    #[error("git cannot apply {} to {package}: {complaint}", patch.display())]
    Refused { patch: PathBuf, package: String, complaint: String },
}

impl Patch {
    /// Reads a patch from a file.
    ///
    /// # Errors
    ///
    /// Returns [`PatchError::Unreadable`] if the file cannot be read.
    pub(crate) fn read(file: &Path) -> Result<Self, PatchError> {
        let text = std::fs::read_to_string(file)
            .map_err(|source| PatchError::Unreadable { patch: file.to_owned(), source })?;
        let (lines, hunks) = parse(&text);
        Ok(Self { file: file.to_owned(), lines, hunks })
    }

    /// Returns how many lines the patch changes.
    pub(crate) fn lines(&self) -> Lines {
        self.lines
    }

    /// Applies the patch to the copy of a package. If this fails, nothing is changed.
    ///
    /// # Errors
    ///
    /// Fails if git is not installed, or if the lines in the copy differ from those in the patch.
    pub(crate) fn apply(&self, package: &str, copy: &Path) -> Result<(), PatchError> {
        let mut git = Command::new("git");
        git.args(["apply", "--whitespace=nowarn"]).arg(&self.file).current_dir(copy);
        // Within a repository, git would treat the paths as relative to the repository and skip
        // missing files.
        git.env("GIT_CEILING_DIRECTORIES", copy.parent().unwrap_or(copy)).env("LC_ALL", "C");
        let answer = git.stdin(Stdio::null()).output().map_err(|error| match error.kind() {
            ErrorKind::NotFound => PatchError::NoGit,
            _ => PatchError::Git(error),
        })?;
        if answer.status.success() {
            return Ok(());
        }
        Err(self.refusal(package, &String::from_utf8_lossy(&answer.stderr)))
    }

    /// Converts an error message of git into an error.
    fn refusal(&self, package: &str, complaint: &str) -> PatchError {
        let (patch, package) = (self.file.clone(), package.to_owned());
        let failed = |line: &str| {
            let (file, line) = line.strip_prefix("error: patch failed: ")?.rsplit_once(':')?;
            self.place_of(file, line.parse().ok()?)
        };
        match complaint.lines().find_map(failed) {
            Some((number, Hunk { file, line })) => {
                PatchError::DoesNotFit { patch, package, file, number, line }
            }
            None => PatchError::Refused { patch, package, complaint: complaint.trim().to_owned() },
        }
    }

    /// Returns the hunk of a file that begins at a line, and its number among the file's hunks,
    /// counted from one.
    fn place_of(&self, file: &str, line: usize) -> Option<(usize, Hunk)> {
        let of_file = self.hunks.iter().filter(|hunk| hunk.file == file);
        let (index, hunk) = of_file.enumerate().find(|(_, hunk)| hunk.line == line)?;
        Some((index + 1, hunk.clone()))
    }
}

impl fmt::Display for Lines {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "+{} −{}", self.added, self.removed)
    }
}

fn parse(text: &str) -> (Lines, Vec<Hunk>) {
    let (mut lines, mut hunks) = (Lines::default(), Vec::new());
    let (mut file, mut in_hunk) = ("", false);
    for line in text.lines() {
        if line.starts_with("diff ") {
            in_hunk = false;
        } else if let Some(name) = line.strip_prefix("--- a/").filter(|_| !in_hunk) {
            file = name;
        } else if let Some(line) = first_line(line) {
            hunks.push(Hunk { file: file.to_owned(), line });
            in_hunk = true;
        } else if in_hunk {
            lines.added += usize::from(line.starts_with('+'));
            lines.removed += usize::from(line.starts_with('-'));
        }
    }
    (lines, hunks)
}

/// Returns 167 for `@@ -167,7 +168,5 @@ impl BSpline`.
fn first_line(header: &str) -> Option<usize> {
    let old = header.strip_prefix("@@ -")?.split(' ').next()?;
    old.split(',').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{Lines, Patch, PatchError};

    const PATCH: &str = "\
diff --git a/src/lib.rs b/src/lib.rs
--- a/src/lib.rs
+++ b/src/lib.rs
@@ -1,2 +1,3 @@
 one
+one and a half
 two
@@ -4,4 +5,3 @@ fn four() {
 four
-five
--- six
+++ six
 seven
";

    const SOURCE: &str = "one\ntwo\nthree\nfour\nfive\n-- six\nseven\n";

    /// Applies the patch to a crate that consists of one file with this text. Returns the result,
    /// the text, and the number of lines.
    fn applied(source: &str) -> (Result<(), PatchError>, String, Lines) {
        let directory = tempfile::tempdir().unwrap();
        let (file, copy) = (directory.path().join("pool.patch"), directory.path().join("copy"));
        fs::create_dir_all(copy.join("src")).unwrap();
        fs::write(&file, PATCH).unwrap();
        fs::write(copy.join("src/lib.rs"), source).unwrap();
        let patch = Patch::read(&file).unwrap();
        let result = patch.apply("four-1.0.0", &copy);
        (result, fs::read_to_string(copy.join("src/lib.rs")).unwrap(), patch.lines())
    }

    #[test]
    fn a_patch_that_fits_is_applied_and_counted() {
        let (result, text, lines) = applied(SOURCE);
        result.unwrap();
        assert_eq!(text, "one\none and a half\ntwo\nthree\nfour\n++ six\nseven\n");
        assert_eq!(lines, Lines { added: 2, removed: 2 });
        assert_eq!(lines.to_string(), "+2 −2");
    }

    #[test]
    fn a_patch_that_does_not_fit_names_crate_file_and_hunk_and_changes_nothing() {
        let source = SOURCE.replace("five", "cinq");
        let (result, text, _) = applied(&source);
        let error = result.unwrap_err();
        assert!(matches!(error, PatchError::DoesNotFit { number: 2, line: 4, .. }), "{error:?}");
        let error = error.to_string();
        assert!(error.contains("pool.patch does not fit four-1.0.0"), "{error}");
        assert!(error.ends_with("hunk 2 of src/lib.rs, at line 4"), "{error}");
        assert_eq!(text, source);
    }

    #[test]
    fn a_file_that_is_missing_is_refused_in_words_of_git() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("pool.patch");
        fs::write(&file, PATCH).unwrap();
        fs::create_dir_all(directory.path().join("copy")).unwrap();
        let error = Patch::read(&file).unwrap().apply("four-1.0.0", &directory.path().join("copy"));
        let error = error.unwrap_err();
        assert!(matches!(error, PatchError::Refused { .. }), "{error:?}");
        assert!(error.to_string().contains("src/lib.rs"), "{error}");
    }

    #[test]
    fn a_patch_that_is_not_there_is_named() {
        let error = Patch::read("/nowhere/pool.patch".as_ref()).unwrap_err();
        assert!(error.to_string().contains("/nowhere/pool.patch"), "{error}");
    }
}
