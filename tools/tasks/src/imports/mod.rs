//! `cargo xtask imports`: checks which modules import each other.
//!
//! Modules that import each other in a cycle can only be understood and changed together, so
//! published crates have no cycles. The comment `// Layering:` in the file that declares a module
//! states what the module may import (`layering.rs`). ARCHITECTURE's table of crates states on what
//! a crate may depend (`crates.rs`). Every module begins with a doc comment that describes it. The
//! last line counts the checks: three for each crate, and one for the table.

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
use names::Names;
use path::{ModulePath, shown};

/// The page that contains the table of crates.
const PAGE: &str = "ARCHITECTURE.md";

/// The arguments of `cargo xtask imports`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Check nothing, and print what the modules of each crate import, in the form of a layering.
    #[arg(long)]
    list: bool,
}

/// A crate whose modules are checked.
#[derive(Clone, Copy, Debug)]
pub struct Crate<'a> {
    /// The name of the crate.
    pub name: &'a str,
    /// The file of the root module, relative to the root of the workspace.
    pub root: &'a str,
}

/// Compares the manifests of the workspace with ARCHITECTURE.md, and the modules in `checked` with
/// their layerings.
///
/// # Errors
///
/// Fails if a source cannot be read or parsed. A cycle is not returned as an error: it sets the
/// exit code.
pub fn run(arguments: &Arguments, checked: &[Crate<'_>]) -> Result<ExitCode, TaskError> {
    let workspace: Workspace = workspace::describe()?;
    if arguments.list {
        return list(&workspace.root, checked);
    }
    let page = std::fs::read_to_string(workspace.root.join(PAGE))?;
    let mut checks = Checks::default();
    checks.that("crates import only what their rows allow", none(&crates::complaints(&page)?));
    for one in checked {
        check(&workspace.root.join(one.root), one.name, &mut checks)?;
    }
    println!("\n{checks}");
    Ok(checks.exit_code())
}

/// Returns the public types and traits of a crate, each with the module that defines it, from the
/// file of the root module.
///
/// # Errors
///
/// Fails if a source cannot be read or parsed.
pub(crate) fn public_types(root: &Path) -> Result<Vec<(String, String)>, TaskError> {
    let modules = Modules::read(root)?;
    let of_module = |(path, names): (&ModulePath, &Names)| {
        let module = shown(path);
        let types = names.public_types.iter().cloned();
        types.map(|name| (module.clone(), name)).collect::<Vec<_>>()
    };
    Ok(modules.iter().flat_map(of_module).collect())
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
    let reported: Vec<String> =
        circles::of(&imports).into_iter().map(|circle| circle.join(", ")).collect();
    let (files, arrows) = (modules.len(), imports.len());
    checks.that(&format!("{name}, {files} modules, {arrows} imports: no cycles"), none(&reported));
    let complaints = allowed::complaints(name, &modules, &imports);
    checks.that(
        &format!("{name}: modules import only what their layering allows"),
        none(&complaints),
    );
    let opening = format!("{name}: every module begins with documentation");
    checks.that(&opening, none(&modules.without_idea()));
    Ok(())
}

/// Returns success if there are no complaints.
fn none(complaints: &[String]) -> Outcome {
    if complaints.is_empty() { Ok(()) } else { Err(complaints.join("\n    ")) }
}
