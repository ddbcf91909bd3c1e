//! `cargo xtask imports`: which module imports which, and whether the tables of the workspace allow it.
//!
//! Modules that import each other in a circle can be understood, and changed, only together. So there are none, in any
//! crate that is published; and what a room may import, and a crate, is what its row in ARCHITECTURE's tables says.
//! The last line counts the checks: two for each crate, and one for the table of crates.

mod circles;
mod crates;
mod modules;
mod names;
mod resolve;
mod rooms;

use std::path::Path;
use std::process::ExitCode;

use crate::TaskError;
use crate::checks::{Checks, Outcome};
use crate::workspace::{self, Workspace};

use modules::Modules;

/// The page with the tables.
const PAGE: &str = "ARCHITECTURE.md";

/// What `cargo xtask imports` accepts.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Check nothing: print what the rooms of each crate import, as rows for the tables.
    #[arg(long)]
    list: bool,
}

/// A crate whose modules are checked.
#[derive(Clone, Copy, Debug)]
pub struct Crate<'a> {
    /// Its name, which the heading of its table has.
    pub name: &'a str,
    /// The file of its root module, from the root of the workspace.
    pub root: &'a str,
}

/// Checks the crates of the workspace against the tables of its ARCHITECTURE.md.
///
/// # Errors
///
/// When a source cannot be read or parsed. A circle is no such error: the exit code tells it.
pub fn run(arguments: &Arguments, checked: &[Crate<'_>]) -> Result<ExitCode, TaskError> {
    let workspace: Workspace = workspace::describe()?;
    if arguments.list {
        return list(&workspace.root, checked);
    }
    let page = std::fs::read_to_string(workspace.root.join(PAGE))?;
    let mut checks = Checks::default();
    checks.that("crates import what their rows allow", none(&crates::complaints(&page)?));
    for one in checked {
        check(&workspace.root.join(one.root), one.name, &page, &mut checks)?;
    }
    println!("\n{checks}");
    Ok(checks.exit_code())
}

fn list(root: &Path, listed: &[Crate<'_>]) -> Result<ExitCode, TaskError> {
    for one in listed {
        println!("\nThe rooms of `{}`\n", one.name);
        let modules = Modules::read(&root.join(one.root))?;
        print!("{}", rooms::listed(&modules, &resolve::imports(&modules)));
    }
    Ok(ExitCode::SUCCESS)
}

fn check(root: &Path, name: &str, page: &str, checks: &mut Checks) -> Result<(), TaskError> {
    let modules = Modules::read(root)?;
    let imports = resolve::imports(&modules);
    let told: Vec<String> =
        circles::of(&imports).into_iter().map(|circle| circle.join(", ")).collect();
    let (files, arrows) = (modules.len(), imports.len());
    checks.that(&format!("{name}, {files} modules, {arrows} imports: no circle"), none(&told));
    let complaints = rooms::complaints(page, name, &modules, &imports);
    checks.that(&format!("{name}: rooms import what their rows allow"), none(&complaints));
    Ok(())
}

/// That there is nothing to complain of.
fn none(complaints: &[String]) -> Outcome {
    if complaints.is_empty() { Ok(()) } else { Err(complaints.join("\n    ")) }
}
