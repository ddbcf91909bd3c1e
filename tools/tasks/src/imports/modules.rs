//! The modules of a crate, a file each, and what their sources name.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::names::{self, Names};
use crate::TaskError;

/// Where a module is in its crate: no name at all for the root.
pub(super) type ModulePath = Vec<String>;

/// The files of a crate, by where they are in its tree of modules.
#[derive(Debug, Default)]
pub(super) struct Modules(BTreeMap<ModulePath, Names>);

impl Modules {
    /// Reads the root's file, and from there every file that a `mod` declares; tests are left out.
    ///
    /// # Errors
    ///
    /// When a file cannot be read, or is no Rust.
    pub(super) fn read(root: &Path) -> Result<Self, TaskError> {
        let mut modules = Self::default();
        modules.add(&[], root)?;
        Ok(modules)
    }

    /// Modules given as texts, under their paths with `::` between.
    #[cfg(test)]
    pub(super) fn of(texts: &[(&str, &str)]) -> Self {
        let path = |text: &str| -> ModulePath {
            text.split("::").filter(|name| !name.is_empty()).map(str::to_owned).collect()
        };
        let names = |text: &str| names::of(&syn::parse_file(text).unwrap());
        Self(texts.iter().map(|(module, text)| (path(module), names(text))).collect())
    }

    fn add(&mut self, path: &[String], file: &Path) -> Result<(), TaskError> {
        let text =
            fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
        let syntax =
            syn::parse_file(&text).map_err(|error| format!("{}: {error}", file.display()))?;
        let names = names::of(&syntax);
        let children = names.declared_modules.clone();
        self.0.insert(path.to_vec(), names);
        for child in children {
            let Some(file) = file_of(file, path.is_empty(), &child) else {
                return Err(format!("{}: no file of the module `{child}`", file.display()).into());
            };
            self.add(&[path, &[child]].concat(), &file)?;
        }
        Ok(())
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn get(&self, path: &[String]) -> Option<&Names> {
        self.0.get(path)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&ModulePath, &Names)> {
        self.0.iter()
    }
}

/// The file of a module that another file declares.
fn file_of(parent: &Path, is_root: bool, child: &str) -> Option<PathBuf> {
    let is_directory_module = is_root || parent.file_name().is_some_and(|name| name == "mod.rs");
    let directory =
        if is_directory_module { parent.parent()?.to_owned() } else { parent.with_extension("") };
    let candidates = [directory.join(format!("{child}.rs")), directory.join(child).join("mod.rs")];
    candidates.into_iter().find(|file| file.is_file())
}
