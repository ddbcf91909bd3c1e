//! `cargo xtask web`: the pools in a browser. It builds the page of example 19 and the tests for WebAssembly, and serves
//! both on this machine. With `--test` Chromium runs the tests, and the page is driven by mouse and keyboard, without a
//! window.

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

/// What `cargo xtask web` accepts.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Run the tests and drive the page in Chromium, without a window. The last line counts the checks.
    #[arg(long)]
    test: bool,
    /// Run only tests whose names have this in them, and do not drive the page.
    #[arg(long, value_name = "TEXT", requires = "test")]
    only: Option<String>,
    /// Serve at this port; 0 takes a free one.
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// Put the pictures of the page there.
    #[arg(long, value_name = "DIRECTORY", requires = "test")]
    pictures: Option<PathBuf>,
}

/// Serves the page until it is stopped; with `--test` checks everything in a browser.
///
/// # Errors
///
/// When something cannot be built, no port is free, or there is no Chromium for `--test`.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, TaskError> {
    let workspace: Workspace = workspace::describe()?;
    let chromium = if arguments.test { Some(find_chromium()?) } else { None };
    let site = build::site(&workspace, chromium.is_none() || arguments.only.is_none())?;
    let server = Server::start(arguments.port, site)?;
    let Some(chromium) = chromium else {
        println!("the page:  {}\nthe tests: {}tests/", server.address(), server.address());
        println!("Chromium on Linux needs --enable-unsafe-webgpu; Ctrl-C stops the server.");
        return server.serve_until_stopped();
    };
    let mut checks = Checks::default();
    let pictures = arguments.pictures.clone();
    let pictures = pictures.unwrap_or_else(|| workspace.target_directory.join("web/pictures"));
    let mut browser = Browser::launch(&chromium, &pictures)?;
    println!("{}", browser.version()?);
    tests::run(&mut browser, server.address(), arguments.only.as_deref(), &mut checks)?;
    if arguments.only.is_none() {
        page::run(&mut browser, server.address(), &mut checks)?;
    }
    println!("\n{checks}");
    Ok(checks.exit_code())
}
