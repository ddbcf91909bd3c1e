//! `cargo xtask web`: runs the pools in a browser. It builds the page of example 19 for WebAssembly
//! and serves it on this machine. With `--test`, Chromium runs the tests of other crates and the
//! page without a window. The task then controls the page with mouse and keyboard events.

mod browser;
mod build;
mod page;
mod server;
mod tests;

use std::path::PathBuf;
use std::process::ExitCode;

use crate::TaskError;
use browser::Browser;
use server::Server;
use tasks::checks::Checks;
use tasks::workspace::{self, Workspace};

pub(crate) use browser::find_chromium;

/// The arguments of `cargo xtask web`.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Run the tests and control the page in Chromium, without a window. The last line counts the
    /// checks.
    #[arg(long)]
    test: bool,
    /// Run only tests whose names contain this text. The page is tested if the text is part of
    /// `page`.
    #[arg(long, value_name = "TEXT", requires = "test")]
    only: Option<String>,
    /// Serve on this port. 0 selects a free port.
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// Write screenshots of the page to this directory.
    #[arg(long, value_name = "DIRECTORY", requires = "test")]
    pictures: Option<PathBuf>,
}

/// Serves the page until the task is stopped. With `--test`, checks everything in a browser.
///
/// # Errors
///
/// Fails if something cannot be built, if no port is free, or if Chromium is missing for `--test`.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, TaskError> {
    let workspace: Workspace = workspace::describe()?;
    let chromium = if arguments.test { Some(find_chromium()?) } else { None };
    let with_page = arguments.only.as_ref().is_none_or(|part| "page".contains(part));
    let with_tests = arguments.test && arguments.only.as_deref() != Some("page");
    let site = build::site(&workspace, with_page, with_tests)?;
    let server = Server::start(arguments.port, site)?;
    let Some(chromium) = chromium else {
        println!("{}", server.address());
        println!("Chromium on Linux needs --enable-unsafe-webgpu; Ctrl-C stops the server.");
        return server.serve_until_stopped();
    };
    let mut checks = Checks::default();
    let pictures = arguments.pictures.clone();
    let pictures = pictures.unwrap_or_else(|| workspace.target_directory.join("web/pictures"));
    let mut browser = Browser::launch(&chromium, &pictures)?;
    println!("{}", browser.version()?);
    if with_tests {
        tests::run(&mut browser, server.address(), arguments.only.as_deref(), &mut checks)?;
    }
    if with_page {
        page::run(&mut browser, server.address(), &mut checks)?;
    }
    println!("\n{checks}");
    Ok(checks.exit_code())
}
