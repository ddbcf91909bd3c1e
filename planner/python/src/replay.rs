//! Replays a log and returns its report to Python as JSON.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use pool_plan::Options;
use pool_replay::{Allocator, Format, LogError, Outcome, Replay, Report, Source};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::errors;
use crate::options::Wanted;
use crate::watch::watched;

/// Replays a file. Returns the report as JSON, and the outcome.
#[pyfunction]
pub(crate) fn replay(
    py: Python<'_>,
    path: PathBuf,
    format: Option<&str>,
    allocators: Vec<String>,
    alignment: u64,
    wanted: Wanted,
) -> PyResult<(String, &'static str)> {
    let options = wanted.options()?;
    if !alignment.is_power_of_two() {
        return Err(PyValueError::new_err(format!("alignment {alignment} is not a power of two")));
    }
    let allocators: PyResult<Vec<Allocator>> =
        allocators.iter().map(|name| allocator(name)).collect();
    let replay = Replay {
        format: format.map(format_of).transpose()?,
        allocators: allocators?,
        capacity: options.capacity,
        alignment,
        options: Options { capacity: None, ..options },
        ..Replay::default()
    };
    let is_cancelled = AtomicBool::new(false);
    let work = || -> Result<Report, LogError> {
        let file = Stoppable { file: File::open(&path)?, is_cancelled: &is_cancelled };
        let mut source = Source::new(file)?;
        replay.read(path.display().to_string(), &mut source)
    };
    let report = watched(py, work, || is_cancelled.store(true, Ordering::Relaxed))?;
    let report = report.map_err(|error| errors::of_log(py, error))?;
    let outcome = match report.outcome() {
        Outcome::Fits => "fits",
        Outcome::NoRoom => "no-room",
        Outcome::LeftOut => "left-out",
        Outcome::Inconsistent => "inconsistent",
    };
    let text = serde_json::to_string(&report);
    text.map(|text| (text, outcome)).map_err(|error| PyValueError::new_err(error.to_string()))
}

fn format_of(name: &str) -> PyResult<Format> {
    let known = Format::ALL.into_iter().find(|known| known.name() == name);
    known.ok_or_else(|| {
        let names = Format::ALL.map(Format::name).join(", ");
        PyValueError::new_err(format!("format {name:?} is not one of {names}"))
    })
}

fn allocator(name: &str) -> PyResult<Allocator> {
    let known = Allocator::ALL.into_iter().find(|one| one.name() == name);
    known.ok_or_else(|| {
        let names = Allocator::ALL.map(Allocator::name).join(", ");
        PyValueError::new_err(format!("allocator {name:?} is not one of {names}"))
    })
}

/// A file whose reads fail once the reader should stop.
struct Stoppable<'a> {
    file: File,
    is_cancelled: &'a AtomicBool,
}

impl Read for Stoppable<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        if self.is_cancelled.load(Ordering::Relaxed) {
            return Err(io::Error::other("stopped"));
        }
        self.file.read(bytes)
    }
}

impl Seek for Stoppable<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file.seek(to)
    }
}
