//! A file that is written either completely or not at all. Until the file is complete, it has a
//! temporary name in the same folder. If the command is interrupted, the incomplete file is
//! removed.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

/// The exit code of a command that was interrupted.
const INTERRUPTED: i32 = 130;

/// The unfinished file of this process.
static UNFINISHED: Mutex<Option<PathBuf>> = Mutex::new(None);

/// A file that is being written. If it is dropped before [`finish`](Self::finish), the old file
/// remains.
pub(crate) struct WholeFile {
    to: BufWriter<File>,
    /// The unfinished file and its final name. The value is `None` for a device or a pipe, which is
    /// written directly.
    names: Option<(PathBuf, PathBuf)>,
}

fn unfinished() -> MutexGuard<'static, Option<PathBuf>> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Installs a handler for interruption and termination of the command. The handler removes the
/// unfinished file and ends the process.
fn remove_when_interrupted() {
    static HANDLER: Once = Once::new();
    HANDLER.call_once(|| {
        let end = || {
            // The lock is held until the process ends, so that no file is started or finished in
            // the meantime.
            let mut unfinished = unfinished();
            if let Some(path) = unfinished.take() {
                let _ = fs::remove_file(path);
            }
            std::process::exit(INTERRUPTED);
        };
        // Without a handler, an interrupt ends the process and leaves the unfinished file.
        let _ = ctrlc::set_handler(end);
    });
}

impl WholeFile {
    /// Starts writing a file.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be created.
    pub(crate) fn create(path: &Path) -> io::Result<Self> {
        let old = fs::metadata(path).ok();
        if old.as_ref().is_some_and(|old| !old.is_file()) {
            let file = File::options().write(true).open(path)?;
            return Ok(Self { to: BufWriter::new(file), names: None });
        }
        // If the path is a link, the link remains unchanged and its target is replaced.
        let target = if old.is_some() { fs::canonicalize(path)? } else { path.to_owned() };
        let name =
            target.file_name().ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
        let mut hidden = std::ffi::OsString::from(".");
        hidden.push(name);
        hidden.push(format!(".{}.unfinished", std::process::id()));
        let partial = target.with_file_name(hidden);
        remove_when_interrupted();
        let mut unfinished = unfinished();
        let file = File::options().write(true).create_new(true).open(&partial)?;
        *unfinished = Some(partial.clone());
        drop(unfinished);
        let whole = Self { to: BufWriter::new(file), names: Some((partial, target)) };
        if let Some((old, (partial, _))) = old.zip(whole.names.as_ref()) {
            fs::set_permissions(partial, old.permissions())?;
        }
        Ok(whole)
    }

    /// Renames the complete file to its final name.
    ///
    /// # Errors
    ///
    /// Fails if the last bytes cannot be written, or the file cannot be renamed.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        self.to.flush()?;
        let mut unfinished = unfinished();
        if let Some((partial, target)) = &self.names {
            fs::rename(partial, target)?;
            self.names = None;
        }
        *unfinished = None;
        Ok(())
    }
}

impl Write for WholeFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.to.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

impl Drop for WholeFile {
    fn drop(&mut self) {
        if let Some((partial, _)) = self.names.take() {
            *unfinished() = None;
            let _ = fs::remove_file(partial);
        }
    }
}
