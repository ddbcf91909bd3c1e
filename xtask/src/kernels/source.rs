//! The files in a directory of kernels.

use std::path::{Path, PathBuf};

use crate::TaskError;

/// A C++ file.
#[derive(Clone, Debug)]
pub(super) struct Source {
    /// The name by which other files include this file.
    pub(super) name: String,
    pub(super) text: String,
    /// The path of the file's PTX.
    pub(super) ptx: PathBuf,
}

/// All files in a directory. The files of each kind are ordered by name.
#[derive(Clone, Debug)]
pub(super) struct Sources {
    pub(super) modules: Vec<Source>,
    pub(super) headers: Vec<Source>,
    /// PTX files that belong to no module.
    pub(super) left_over: Vec<PathBuf>,
}

impl Sources {
    /// Reads a directory.
    ///
    /// # Errors
    ///
    /// Fails if the directory cannot be read, or if it contains no module.
    pub(super) fn read(directory: &Path) -> Result<Self, TaskError> {
        let entries = std::fs::read_dir(directory)?.collect::<Result<Vec<_>, _>>()?;
        let mut paths: Vec<PathBuf> = entries.iter().map(std::fs::DirEntry::path).collect();
        paths.sort();
        let all = |ending: &'static str| {
            let ends = move |path: &&PathBuf| path.extension().is_some_and(|found| found == ending);
            paths.iter().filter(ends)
        };
        let modules = all("cu").map(|path| read(path)).collect::<Result<Vec<_>, _>>()?;
        if modules.is_empty() {
            return Err(format!("{} contains no sources", directory.display()).into());
        }
        let is_given = |ptx: &&PathBuf| modules.iter().any(|module| module.ptx == **ptx);
        Ok(Self {
            headers: all("cuh").map(|path| read(path)).collect::<Result<_, _>>()?,
            left_over: all("ptx").filter(|ptx| !is_given(ptx)).cloned().collect(),
            modules,
        })
    }
}

fn read(path: &Path) -> Result<Source, TaskError> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Ok(Source { name, text: std::fs::read_to_string(path)?, ptx: path.with_extension("ptx") })
}

#[cfg(test)]
mod tests {
    use super::Sources;

    #[test]
    fn files_are_distinguished_by_their_endings() {
        let directory = tempfile::tempdir().unwrap();
        for name in ["b.cu", "a.cu", "c.cuh", "a.ptx", "old.ptx", "budget.tsv"] {
            std::fs::write(directory.path().join(name), name).unwrap();
        }
        let sources = Sources::read(directory.path()).unwrap();
        let names: Vec<_> = sources.modules.iter().map(|source| source.name.as_str()).collect();
        assert_eq!(names, ["a.cu", "b.cu"]);
        assert_eq!(sources.headers[0].text, "c.cuh");
        assert_eq!(sources.left_over, [directory.path().join("old.ptx")]);
    }

    #[test]
    fn a_directory_without_sources_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        assert!(Sources::read(directory.path()).is_err());
        assert!(Sources::read(&directory.path().join("none")).is_err());
    }
}
