//! `cargo xtask links`: checks every link in every document.
//!
//! A link into the repository must refer to an existing file and, if it names a heading, to an
//! existing heading. A crate's page is also read outside the repository. Its links are therefore
//! complete addresses that begin with the `repository` of the manifests, and they must refer to
//! existing files. Other addresses are not checked. The last line counts the documents.

mod document;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use serde::Deserialize;

use crate::TaskError;
use crate::checks::Checks;
use crate::programs::output;
use crate::workspace;
use document::Document;

#[derive(Debug, Deserialize)]
struct Manifests {
    /// The root of the workspace.
    #[serde(rename = "workspace_root")]
    root: PathBuf,
    packages: Vec<Package>,
}

#[derive(Debug, Deserialize)]
struct Package {
    manifest_path: PathBuf,
    repository: Option<String>,
    /// The list is empty for `publish = false`.
    publish: Option<Vec<String>>,
}

/// The possible targets of links.
#[derive(Debug)]
struct Places {
    /// The root of the repository.
    root: PathBuf,
    /// The URL prefix of this repository's files.
    repository: String,
    /// The directories of the published crates.
    published: Vec<PathBuf>,
}

/// A reserved host name, which is used until the repository has an address.
const PLACEHOLDER: &str = "://example.org/";

/// Checks the links in all documents of the workspace, except those in the directories `except`,
/// which have their own tasks.
///
/// # Errors
///
/// Fails if a document cannot be read. A dead link is not returned as an error: it sets the exit
/// code.
pub fn run(except: &[&str]) -> Result<ExitCode, TaskError> {
    let manifests: Manifests = workspace::describe()?;
    let places = Places::of(&manifests)?;
    let mut checks = Checks::default();
    for path in documents(&manifests.root, except)? {
        let document = Document::read(&places.root, &path)?;
        let dead: Vec<String> =
            document.links().iter().filter_map(|link| places.complaint(&document, link)).collect();
        let followed = if dead.is_empty() { Ok(()) } else { Err(dead.join("\n    ")) };
        let links = document.links().len();
        checks.that(&format!("{}, {links} links", path.display()), followed);
    }
    println!("\n{checks}");
    Ok(checks.exit_code())
}

/// Returns all documents in a workspace that are under version control or new, as paths relative to
/// the root of the repository.
fn documents(workspace: &Path, except: &[&str]) -> Result<Vec<PathBuf>, TaskError> {
    let mut list = Command::new("git");
    list.args([
        "ls-files",
        "--full-name",
        "--cached",
        "--others",
        "--exclude-standard",
        "--",
        "*.md",
    ]);
    list.args(except.iter().map(|directory| format!(":(exclude){directory}")));
    let listed = output(list.current_dir(workspace))?;
    let root = repository(workspace)?;
    let mut documents: Vec<PathBuf> =
        std::str::from_utf8(&listed)?.lines().map(PathBuf::from).collect();
    documents.retain(|path| root.join(path).is_file());
    if documents.is_empty() {
        return Err("git lists no documents".into());
    }
    Ok(documents)
}

/// Returns the root of the repository that contains a workspace.
fn repository(workspace: &Path) -> Result<PathBuf, TaskError> {
    let mut ask = Command::new("git");
    ask.args(["rev-parse", "--show-toplevel"]).current_dir(workspace);
    Ok(PathBuf::from(std::str::from_utf8(&output(&mut ask)?)?.trim_end()))
}

impl Places {
    fn of(manifests: &Manifests) -> Result<Self, TaskError> {
        let published = manifests.packages.iter().filter(|package| package.publish.is_none());
        let mut repository = None;
        let mut directories = Vec::new();
        for package in published {
            let address = package.repository.clone();
            let address = address.ok_or("a published crate has no `repository`")?;
            repository = Some(address);
            directories.extend(package.manifest_path.parent().map(Path::to_owned));
        }
        let repository = repository.ok_or("no crate is published")?;
        Ok(Self { root: self::repository(&manifests.root)?, repository, published: directories })
    }

    /// Returns the complaint about a link, if there is one.
    fn complaint(&self, document: &Document, link: &str) -> Option<String> {
        let (target, heading) = link.split_once('#').unwrap_or((link, ""));
        let ours = target.strip_prefix(&self.repository);
        let directory = self.root.join(&document.path).parent()?.to_owned();
        let file = match ours {
            Some(rest) => self.root.join(file_in_the_repository(rest)?),
            None if target.contains(PLACEHOLDER) => {
                return Some(format!("`{link}` is not in the repository, {}", self.repository));
            }
            None if target.contains("://") || target.starts_with("mailto:") => return None,
            None if target.is_empty() => self.root.join(&document.path),
            None if self.published.contains(&directory) => {
                return Some(format!(
                    "`{link}` does not resolve from a package: begin the link with {}",
                    self.repository
                ));
            }
            None => directory.join(target),
        };
        if !file.exists() {
            return Some(format!("`{link}`: there is no {}", file.display()));
        }
        if heading.is_empty() || file.extension().is_none_or(|extension| extension != "md") {
            return None;
        }
        let there = Document::read(&self.root, &file).ok()?;
        let found = there.headings().iter().any(|own| own == heading);
        (!found).then(|| format!("`{link}`: {} has no such heading", file.display()))
    }
}

/// Returns the file in an address such as `/blob/main/docs/graphs.md`, or `None` if the address
/// does not refer to a file.
fn file_in_the_repository(rest: &str) -> Option<&str> {
    let rest = rest.strip_prefix("/blob/").or_else(|| rest.strip_prefix("/tree/"))?;
    rest.split_once('/').map(|(_, file)| file)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;

    use super::{Document, Places};

    fn complaints(path: &str, text: &str) -> Vec<String> {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("crates/a")).unwrap();
        fs::create_dir_all(root.path().join("docs")).unwrap();
        fs::write(root.path().join("docs/there.md"), "# Two `words`, here\n").unwrap();
        fs::write(root.path().join(path), text).unwrap();
        let places = Places {
            root: root.path().to_owned(),
            repository: "https://x.org/y".to_owned(),
            published: vec![root.path().join("crates/a")],
        };
        let document = Document::read(root.path(), &PathBuf::from(path)).unwrap();
        document.links().iter().filter_map(|link| places.complaint(&document, link)).collect()
    }

    #[test]
    fn what_is_there_is_found() {
        let text = "# Own\n[a](docs/there.md) [b](docs/there.md#two-words-here) [c](#own) [d]\n\n\
            [d]: docs\n[e](https://other.org/nowhere) ![f](docs/there.md) `[g](no)`\n";
        assert!(complaints("README.md", text).is_empty());
    }

    #[test]
    fn dead_links_are_found() {
        let text = "[a](docs/no.md) [b](docs/there.md#no) [c](#no) [d](https://x.org/y/blob/main/no)\n\
            [e](https://example.org/y)";
        assert_eq!(complaints("README.md", text).len(), 5);
    }

    #[test]
    fn a_page_that_is_packaged_has_whole_addresses() {
        let good = "[a](https://x.org/y/blob/main/docs/there.md#two-words-here) [b](#own)\n# Own\n";
        assert!(complaints("crates/a/README.md", good).is_empty());
        let said = complaints("crates/a/README.md", "[a](../../docs/there.md)");
        assert!(
            said.len() == 1 && said[0].contains("begin the link with https://x.org/y"),
            "{said:?}"
        );
    }
}
