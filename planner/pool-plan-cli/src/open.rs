//! Opens a log, with a progress bar on a terminal.

use std::fs::File;
use std::io::{self, IsTerminal};
use std::path::Path;

use indicatif::{ProgressBar, ProgressBarIter, ProgressStyle};

use pool_replay::{Format, LogError, Source};

/// A log, its format, and its progress bar.
pub(crate) struct Log {
    pub(crate) source: Source<ProgressBarIter<File>>,
    pub(crate) format: Format,
    pub(crate) progress: ProgressBar,
}

/// Opens a log, with a progress bar on a terminal. If no format is given, the function detects it.
pub(crate) fn open(path: &Path, format: Option<Format>) -> Result<Log, LogError> {
    let file = File::open(path)?;
    let metadata = file.metadata()?;
    let (length, is_file) = (metadata.len(), metadata.is_file());
    let progress =
        if io::stderr().is_terminal() { ProgressBar::new(length) } else { ProgressBar::hidden() };
    let template = "{wide_bar} {bytes}/{total_bytes} {eta}";
    if let Ok(style) = ProgressStyle::with_template(template) {
        progress.set_style(style);
    }
    let mut source = Source::new(progress.wrap_read(file))?;
    let format = match format {
        Some(format) => format,
        None => Format::of(&mut source)?,
    };
    if format == Format::Pytorch && !is_file {
        let why = "a snapshot cannot be read from a pipe, because it is read several times: write \
                   the snapshot to a file first";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, why).into());
    }
    Ok(Log { source, format, progress })
}
