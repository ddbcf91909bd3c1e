//! The modules of a crate, each in its own file, and the names that their sources contain.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::layering::Layering;
use super::names::{self, Names};
use super::path::{ModulePath, shown};
use crate::TaskError;

/// The files of a crate, by their position in the module tree.
#[derive(Debug, Default)]
pub(super) struct Modules {
    names: BTreeMap<ModulePath, Names>,
    /// The layerings, for the files that contain one.
    layerings: BTreeMap<ModulePath, Layering>,
}

impl Modules {
    /// Reads the file of the root module and every file that a `mod` declares. Tests are left out.
    ///
    /// # Errors
    ///
    /// Fails if a file cannot be read, or is not valid Rust.
    pub(super) fn read(root: &Path) -> Result<Self, TaskError> {
        let mut modules = Self::default();
        modules.add(&[], root)?;
        Ok(modules)
    }

    /// Creates modules from texts. Their paths use `::` as the separator.
    #[cfg(test)]
    pub(super) fn of(texts: &[(&str, &str)]) -> Self {
        let path = |text: &str| -> ModulePath {
            text.split("::").filter(|name| !name.is_empty()).map(str::to_owned).collect()
        };
        let mut modules = Self::default();
        for (module, text) in texts {
            modules.insert(path(module), text, &syn::parse_file(text).unwrap());
        }
        modules
    }

    fn add(&mut self, path: &[String], file: &Path) -> Result<(), TaskError> {
        let text =
            fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
        let syntax =
            syn::parse_file(&text).map_err(|error| format!("{}: {error}", file.display()))?;
        let children = self.insert(path.to_vec(), &text, &syntax).declared_modules.clone();
        for (child, named) in children {
            let found = match named {
                Some(named) => file.parent().map(|directory| directory.join(named)),
                None => file_of(file, path.is_empty(), &child),
            };
            let Some(file) = found else {
                return Err(format!(
                    "{}: there is no file for the module `{child}`",
                    file.display()
                )
                .into());
            };
            self.add(&[path, &[child]].concat(), &file)?;
        }
        Ok(())
    }

    fn insert(&mut self, path: ModulePath, text: &str, syntax: &syn::File) -> &Names {
        if let Some(layering) = Layering::read(text) {
            self.layerings.insert(path.clone(), layering);
        }
        self.names.entry(path).or_insert_with(|| names::of(syntax))
    }

    pub(super) fn len(&self) -> usize {
        self.names.len()
    }

    pub(super) fn get(&self, path: &[String]) -> Option<&Names> {
        self.names.get(path)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&ModulePath, &Names)> {
        self.names.iter()
    }

    /// Returns the layerings, by the modules whose files contain them.
    pub(super) fn layerings(&self) -> impl Iterator<Item = (&ModulePath, &Layering)> {
        self.layerings.iter()
    }

    /// Returns the names of modules whose files do not begin with documentation.
    pub(super) fn without_idea(&self) -> Vec<String> {
        let without = self.names.iter().filter(|(_, names)| !names.is_documented);
        without.map(|(module, _)| shown(module)).collect()
    }
}

/// Returns the file of a module that another file declares.
fn file_of(parent: &Path, is_root: bool, child: &str) -> Option<PathBuf> {
    let is_directory_module = is_root || parent.file_name().is_some_and(|name| name == "mod.rs");
    let directory =
        if is_directory_module { parent.parent()?.to_owned() } else { parent.with_extension("") };
    let candidates = [directory.join(format!("{child}.rs")), directory.join(child).join("mod.rs")];
    candidates.into_iter().find(|file| file.is_file())
}

#[cfg(test)]
mod tests {
    use super::Modules;

    #[test]
    fn a_module_whose_file_an_attribute_names_is_read() {
        let directory = tempfile::tempdir().unwrap();
        let write = |file: &str, text| std::fs::write(directory.path().join(file), text).unwrap();
        write("lib.rs", "//! A crate.\n#[path = \"other/../elsewhere.rs\"]\nmod named;\n");
        std::fs::create_dir(directory.path().join("other")).unwrap();
        write("elsewhere.rs", "struct A;");
        let modules = Modules::read(&directory.path().join("lib.rs")).unwrap();
        assert_eq!(modules.without_idea(), ["named"]);
    }

    #[test]
    fn a_module_that_does_not_open_with_its_idea_is_found() {
        let modules = Modules::of(&[
            ("", "//! A crate."),
            ("a", "// A comment.\n/// Of an item.\nstruct A;"),
            ("b", "#![allow(dead_code)]\n//! Its idea."),
        ]);
        assert_eq!(modules.without_idea(), ["a"]);
    }
}
