//! A file server that is only reachable from this machine.

use std::fs::File;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Component, Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::thread;

use tiny_http::{Header, Request, Response};

use crate::TaskError;

/// Serves the files in a directory on its own thread.
pub(crate) struct Server {
    address: String,
    thread: thread::JoinHandle<()>,
}

impl Server {
    /// Serves a directory on a port of 127.0.0.1.
    ///
    /// # Errors
    ///
    /// Fails if the port is in use.
    pub(crate) fn start(port: u16, directory: PathBuf) -> Result<Self, TaskError> {
        let local = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let server = tiny_http::Server::http(local).map_err(|error| format!("{local}: {error}"))?;
        let server = Arc::new(server);
        let address = format!("http://{}/", server.server_addr());
        let thread = thread::spawn(move || {
            for request in server.incoming_requests() {
                serve(request, &directory);
            }
        });
        Ok(Self { address, thread })
    }

    /// Returns the address of the root, with a trailing slash.
    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// Serves until the process is stopped.
    ///
    /// # Errors
    ///
    /// Fails if the server has failed.
    pub(crate) fn serve_until_stopped(self) -> Result<ExitCode, TaskError> {
        self.thread.join().map_err(|_| "the server has failed")?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Responds to one request. If the browser has disconnected, the failed response is ignored.
fn serve(request: Request, directory: &Path) {
    let file = file_of(request.url(), directory);
    let _ = match file.as_ref().and_then(|path| Some((path, File::open(path).ok()?))) {
        Some((path, file)) => {
            let response = Response::from_file(file);
            request.respond(headers(path).into_iter().fold(response, Response::with_header))
        }
        None => request.respond(Response::from_string("not found").with_status_code(404)),
    };
}

/// Returns the file below the directory to which an address refers.
fn file_of(url: &str, directory: &Path) -> Option<PathBuf> {
    let path = url.split(['?', '#']).next()?.trim_start_matches('/');
    let is_below = |part| matches!(part, Component::Normal(_));
    let below = Path::new(path).components().all(is_below).then(|| directory.join(path))?;
    Some(if below.is_dir() { below.join("index.html") } else { below })
}

/// Returns the headers for a file of this type. Browsers must not cache files, because the next
/// build uses the same names.
fn headers(path: &Path) -> Vec<Header> {
    let kind = match path.extension().and_then(|extension| extension.to_str()) {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript",
        Some("css") => "text/css",
        Some("wasm") => "application/wasm",
        Some("png") => "image/png",
        _ => "application/octet-stream",
    };
    let fields = [("Content-Type", kind), ("Cache-Control", "no-store")];
    fields.iter().filter_map(|(name, value)| Header::from_bytes(*name, *value).ok()).collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::file_of;

    #[test]
    fn files_are_below_the_directory() {
        let found = |url: &str| file_of(url, Path::new("/site"));
        assert_eq!(found("/tests/tests.js?3").as_deref(), Some(Path::new("/site/tests/tests.js")));
        assert_eq!(found("/../secret"), None);
        assert_eq!(found("/a/../../secret"), None);
        assert_eq!(found("//etc/passwd").as_deref(), Some(Path::new("/site/etc/passwd")));
    }
}
