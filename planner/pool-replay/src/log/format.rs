//! Which format a log has, by its first bytes.

use std::io::BufRead;

use serde::Serialize;

use super::error::LogError;
use super::{problem, rmm};

/// The format of a log.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// The CSV of RMM's logging adaptor.
    Rmm,
    /// A memory snapshot of PyTorch's, pickled.
    Pytorch,
    /// `MiniMalloc`'s CSV: id,lower,upper,size and perhaps offset.
    Minimalloc,
    /// This project's own log: one JSON object a line.
    Json,
    /// A problem as `solve` takes it, JSON: the record of a capture, or any other.
    Problem,
}

impl Format {
    /// The format of what `source` begins with; nothing is consumed.
    ///
    /// # Errors
    /// If the first bytes are those of no format.
    pub fn of(source: &mut impl BufRead) -> Result<Self, LogError> {
        let start = source.fill_buf()?;
        if start.first() == Some(&0x80) {
            return Ok(Self::Pytorch);
        }
        let start = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start).trim_ascii_start();
        if let Some(object) = start.strip_prefix(b"{") {
            let key = object.trim_ascii_start().strip_prefix(b"\"").unwrap_or_default();
            let key = key.split(|&byte| byte == b'"').next().unwrap_or_default();
            let is_problem = problem::KEYS.iter().any(|known| known.as_bytes() == key);
            return Ok(if is_problem { Self::Problem } else { Self::Json });
        }
        let header = start.split(|&byte| byte == b'\n').next().unwrap_or_default();
        let header = String::from_utf8_lossy(header);
        if rmm::is_header(&header) {
            return Ok(Self::Rmm);
        }
        let has = |names: &[&str]| header.split(',').any(|name| names.contains(&name.trim()));
        if has(&["lower", "begin", "start"]) && has(&["size"]) {
            return Ok(Self::Minimalloc);
        }
        Err(LogError::UnknownFormat)
    }
}
