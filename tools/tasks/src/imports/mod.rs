//! `cargo xtask imports`: checks which module imports which.
//!
//! Modules that import each other in a circle can be understood, and changed, only together, so a published crate has
//! none. A module may import what its row allows in the comment `// Layering:` of the file that declares it
//! (`layering.rs`). A crate may depend on what its row allows in ARCHITECTURE's table of crates (`crates.rs`). Every module
//! opens with a doc comment on its idea. The last line counts the checks: three for each crate, and one for the table.

mod allowed;
mod circles;
mod crates;
mod layering;
mod modules;
mod names;
mod path;
mod resolve;

use std::path::Path;
use std::process::ExitCode;

use crate::TaskError;
use crate::checks::{Checks, Outcome};
use crate::workspace::{self, Workspace};

use modules::Modules;

/// The page with the table of crates.
const PAGE: &str = "ARCHITECTURE.md";

/// The options of `cargo xtask imports`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Check nothing: print the imports of each crate's modules, as rows of a layering.
    #[arg(long)]
    list: bool,
}

/// A crate whose modules are checked.
#[derive(Clone, Copy, Debug)]
pub struct Crate<'a> {
    /// Its name.
    pub name: &'a str,
    /// The file of its root module, from the root of the workspace.
    pub root: &'a str,
}

/// Checks the manifests of the workspace against ARCHITECTURE.md, and the modules of `checked` against their layerings.
///
/// # Errors
///
/// Fails if a source cannot be read or parsed. A circle is not an error: it sets the exit code.
pub fn run(arguments: &Arguments, checked: &[Crate<'_>]) -> Result<ExitCode, TaskError> {
    let workspace: Workspace = workspace::describe()?;
    if arguments.list {
        return list(&workspace.root, checked);
    }
    let page = std::fs::read_to_string(workspace.root.join(PAGE))?;
    let mut checks = Checks::default();
    checks.that("crates import what their rows allow", none(&crates::complaints(&page)?));
    for one in checked {
        check(&workspace.root.join(one.root), one.name, &mut checks)?;
    }
    println!("\n{checks}");
    Ok(checks.exit_code())
}

fn list(root: &Path, listed: &[Crate<'_>]) -> Result<ExitCode, TaskError> {
    for one in listed {
        let modules = Modules::read(&root.join(one.root))?;
        print!("{}", allowed::listed(one.name, &modules, &resolve::imports(&modules)));
    }
    Ok(ExitCode::SUCCESS)
}

fn check(root: &Path, name: &str, checks: &mut Checks) -> Result<(), TaskError> {
    let modules = Modules::read(root)?;
    let imports = resolve::imports(&modules);
    let told: Vec<String> =
        circles::of(&imports).into_iter().map(|circle| circle.join(", ")).collect();
    let (files, arrows) = (modules.len(), imports.len());
    checks.that(&format!("{name}, {files} modules, {arrows} imports: no circle"), none(&told));
    let complaints = allowed::complaints(name, &modules, &imports);
    checks.that(&format!("{name}: modules import what their layering allows"), none(&complaints));
    let opening = format!("{name}: every module opens with its idea");
    checks.that(&opening, none(&modules.without_idea()));
    Ok(())
}

/// Asserts that there is no complaint.
fn none(complaints: &[String]) -> Outcome {
    if complaints.is_empty() { Ok(()) } else { Err(complaints.join("\n    ")) }
}
