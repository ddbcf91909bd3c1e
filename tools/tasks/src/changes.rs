//! Determines the files that a branch changes, using `git`.
//!
//! A file counts as changed if it differs from the merge base with another revision in a commit, in
//! the index or on disk. Files that git neither tracks nor ignores also count. A renamed file
//! counts twice: under its old and its new path.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::TaskError;

/// The branch with which changes are compared if no revision is given.
const MAIN: [&str; 2] = ["main", "origin/main"];

/// The changed files of a repository.
#[derive(Clone, Debug)]
pub struct Changes {
    /// The root of the repository.
    pub root: PathBuf,
    /// The revision with which they are compared, as given by the caller.
    pub revision: String,
    /// The paths of the changed files, relative to the root and separated by `/`.
    pub files: BTreeSet<String>,
    /// The changed files that no longer exist.
    pub deleted: BTreeSet<String>,
}

impl Changes {
    /// Compares the working tree around `directory` with its merge base with `revision` or, if none
    /// is given, with the main branch.
    ///
    /// # Errors
    ///
    /// Fails if the directory is not in a git repository, if git does not know the revision, or if
    /// the revision and the current commit have no common ancestor.
    pub fn since(revision: Option<&str>, directory: &Path) -> Result<Self, TaskError> {
        let root = git(directory, &["rev-parse", "--show-toplevel"]).map_err(|error| {
            let place = directory.display();
            format!("git finds the changed files, but {place} is not in a git repository: {error}")
        })?;
        let root = PathBuf::from(root.trim_end());
        let revision = match revision {
            Some(named) if is_commit(&root, named) => named,
            Some(named) => {
                return Err(format!(
                    "there is no revision `{named}`: name a branch, a tag, or a commit"
                )
                .into());
            }
            None => MAIN.into_iter().find(|name| is_commit(&root, name)).ok_or_else(|| {
                let [local, remote] = MAIN;
                format!("there is neither a branch `{local}` nor `{remote}`: name a revision")
            })?,
        };
        let base = git(&root, &["merge-base", "HEAD", revision]).map_err(|_| {
            format!(
                "`{revision}` has no commit in common with this branch: fetch the whole history \
                 with `git fetch --unshallow`"
            )
        })?;
        let list = ["diff", "--name-only", "--no-renames", "-z", base.trim_end(), "--"];
        let mut files = paths(&git(&root, &list)?);
        files.extend(paths(&git(&root, &["ls-files", "--others", "--exclude-standard", "-z"])?));
        let is_gone = |path: &&String| root.join(path).symlink_metadata().is_err();
        let deleted = files.iter().filter(is_gone).cloned().collect();
        Ok(Self { root, revision: revision.to_owned(), files, deleted })
    }
}

/// Returns `true` if the path belongs to a document.
#[must_use]
pub fn is_document(path: &str) -> bool {
    path.ends_with(".md")
}

fn is_commit(root: &Path, name: &str) -> bool {
    let commit = format!("{name}^{{commit}}");
    git(root, &["rev-parse", "--verify", "--quiet", "--end-of-options", &commit]).is_ok()
}

/// Parses paths that git has printed with a zero byte after each.
fn paths(listed: &str) -> BTreeSet<String> {
    listed.split('\0').filter(|path| !path.is_empty()).map(str::to_owned).collect()
}

/// Runs git and returns what it prints.
///
/// # Errors
///
/// Fails if git is not installed. If git fails, returns its message.
fn git(directory: &Path, arguments: &[&str]) -> Result<String, TaskError> {
    let mut command = Command::new("git");
    command.args(arguments).current_dir(directory).stdin(Stdio::null());
    let answer = command.output().map_err(|error| format!("git cannot be started: {error}"))?;
    if !answer.status.success() {
        return Err(String::from_utf8_lossy(&answer.stderr).trim().to_owned().into());
    }
    Ok(String::from_utf8_lossy(&answer.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::{Changes, git};

    /// Creates a repository whose branch `main` consists of one commit with these files.
    fn repository(files: &[&str]) -> tempfile::TempDir {
        let directory = tempfile::tempdir().unwrap();
        run(directory.path(), &["init", "--quiet", "--initial-branch", "main"]);
        for file in files {
            write(directory.path(), file, "as it was on the main branch\n");
        }
        commit(directory.path());
        directory
    }

    fn write(root: &Path, file: &str, text: &str) {
        let path = root.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn commit(root: &Path) {
        run(root, &["add", "--all"]);
        let author = ["-c", "user.name=a", "-c", "user.email=a@example.org"];
        let commit = ["commit", "--quiet", "--no-gpg-sign", "--no-verify", "--message", "One"];
        run(root, &[&author[..], &commit].concat());
    }

    fn run(root: &Path, arguments: &[&str]) {
        git(root, arguments).unwrap();
    }

    fn changed(root: &Path, revision: Option<&str>) -> Vec<String> {
        Changes::since(revision, root).unwrap().files.into_iter().collect()
    }

    #[test]
    fn commits_the_index_the_disk_and_new_files_count() {
        let directory = repository(&["same", "committed", "staged", "edited", ".gitignore"]);
        let root = directory.path();
        run(root, &["switch", "--quiet", "--create", "work"]);
        write(root, ".gitignore", "ignored\n");
        write(root, "committed", "by the branch\n");
        commit(root);
        write(root, "staged", "in the index\n");
        run(root, &["add", "staged"]);
        write(root, "edited", "on disk\n");
        write(root, "new/with ä space", "");
        write(root, "ignored", "");
        let expected = [".gitignore", "committed", "edited", "new/with ä space", "staged"];
        assert_eq!(changed(root, None), expected);
        // The result is the same in another directory of the repository.
        assert_eq!(changed(&root.join("new"), Some("main")), expected);
        assert_eq!(changed(root, Some("HEAD")), ["edited", "new/with ä space", "staged"]);
    }

    #[test]
    fn a_commit_of_the_main_branch_alone_is_no_change() {
        let directory = repository(&["a", "b"]);
        let root = directory.path();
        run(root, &["branch", "work"]);
        write(root, "a", "by the main branch\n");
        commit(root);
        run(root, &["switch", "--quiet", "work"]);
        assert!(changed(root, Some("main")).is_empty());
        write(root, "b", "by this one\n");
        assert_eq!(changed(root, Some("main")), ["b"]);
    }

    #[test]
    fn a_renamed_file_has_two_paths_and_a_deleted_one_its_own() {
        let directory = repository(&["old", "gone", "kept"]);
        let root = directory.path();
        run(root, &["mv", "old", "new"]);
        fs::remove_file(root.join("gone")).unwrap();
        let changes = Changes::since(None, root).unwrap();
        assert_eq!(Vec::from_iter(&changes.files), ["gone", "new", "old"]);
        assert_eq!(Vec::from_iter(&changes.deleted), ["gone", "old"]);
    }

    #[test]
    fn a_directory_without_git_and_an_unknown_revision_are_refused() {
        let plain = tempfile::tempdir().unwrap();
        let said = Changes::since(None, plain.path()).unwrap_err().to_string();
        assert!(said.contains("is not in a git repository"), "{said}");
        let directory = repository(&["a"]);
        let said = Changes::since(Some("no-such"), directory.path()).unwrap_err().to_string();
        assert_eq!(said, "there is no revision `no-such`: name a branch, a tag, or a commit");
        run(directory.path(), &["branch", "--move", "trunk"]);
        let said = Changes::since(None, directory.path()).unwrap_err().to_string();
        assert!(said.contains("neither a branch `main` nor `origin/main`"), "{said}");
    }

    #[test]
    fn a_history_without_the_merge_base_is_refused() {
        let directory = repository(&["a"]);
        let root = directory.path();
        run(root, &["switch", "--quiet", "--orphan", "other"]);
        write(root, "b", "");
        commit(root);
        let said = Changes::since(None, root).unwrap_err().to_string();
        assert!(said.contains("`main` has no commit in common"), "{said}");
    }
}
