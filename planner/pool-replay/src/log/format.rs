//! Detects the format of a log from its first bytes.

use std::io::BufRead;

use serde::Serialize;

use super::error::LogError;
use super::header::{Header, fields};
use super::{cupy, problem, rmm_debug, tflite, xla};

/// The number of bytes at the beginning of a text that are searched for a format whose lines may
/// occur among foreign lines.
const LOOKED_AT: usize = 1 << 14;

/// The format of a log.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Format {
    /// The CSV log of RMM's logging adaptor, of any version.
    Rmm,
    /// RMM's debug log.
    RmmDebug,
    /// A memory snapshot by PyTorch, pickled.
    Pytorch,
    /// The output of `CuPy`'s `DebugPrintHook`.
    Cupy,
    /// `MiniMalloc`'s CSV: id, lower, upper, size and optionally offset.
    Minimalloc,
    /// The memory plan that `TFLite` Micro prints.
    Tflite,
    /// XLA's dump of a buffer assignment, with or without live ranges.
    Xla,
    /// This project's log format, which consists of one JSON object per line.
    Json,
    /// A problem in JSON that `solve` accepts, such as the record of a capture.
    Problem,
}

impl Format {
    /// All formats, in the order in which they are shown.
    pub const ALL: [Self; 9] = [
        Self::Rmm,
        Self::RmmDebug,
        Self::Pytorch,
        Self::Cupy,
        Self::Minimalloc,
        Self::Tflite,
        Self::Xla,
        Self::Json,
        Self::Problem,
    ];

    /// Returns the name of the format on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Rmm => "rmm",
            Self::RmmDebug => "rmm-debug",
            Self::Pytorch => "pytorch",
            Self::Cupy => "cupy",
            Self::Minimalloc => "minimalloc",
            Self::Tflite => "tflite",
            Self::Xla => "xla",
            Self::Json => "json",
            Self::Problem => "problem",
        }
    }

    /// Detects the format from the beginning of `source`, without consuming anything. Use
    /// [`Source`](crate::Source) to open an archive or a compressed file.
    ///
    /// # Errors
    /// Fails if the first bytes match no format. The error names the nearest format.
    pub fn of(source: &mut impl BufRead) -> Result<Self, LogError> {
        let start = source.fill_buf()?;
        if start.first() == Some(&0x80) {
            return Ok(Self::Pytorch);
        }
        let text = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start).trim_ascii_start();
        if let Some(object) = text.strip_prefix(b"{") {
            let key = object.trim_ascii_start().strip_prefix(b"\"").unwrap_or_default();
            let key = key.split(|&byte| byte == b'"').next().unwrap_or_default();
            return match key {
                b"hook" => Ok(Self::Cupy),
                b"traceEvents" | b"displayTimeUnit" | b"schemaVersion" => {
                    let nearest =
                        "a trace in the format of Chrome or Perfetto, which can only be written";
                    Err(LogError::UnknownFormat { nearest: Some(nearest.to_owned()) })
                }
                key if problem::KEYS.iter().any(|known| known.as_bytes() == key) => {
                    Ok(Self::Problem)
                }
                _ => Ok(Self::Json),
            };
        }
        let lines = String::from_utf8_lossy(&text[..text.len().min(LOOKED_AT)]);
        let mut lines = lines.split(['\n', '\r']).map(str::trim).filter(|line| !line.is_empty());
        let header = lines.clone().next().unwrap_or_default();
        if Header::of(header).is_ok() {
            return Ok(Self::Rmm);
        }
        let has = |names: &[&str]| fields(header).any(|name| names.contains(&name));
        if has(&["lower", "begin", "start"]) && has(&["size"]) {
            return Ok(Self::Minimalloc);
        }
        lines
            .find_map(among_others)
            .ok_or_else(|| LogError::UnknownFormat { nearest: nearest(start, header) })
    }
}

/// Returns the format of a line that may occur among foreign lines.
fn among_others(line: &str) -> Option<Format> {
    let known = [
        (rmm_debug::is_event(line), Format::RmmDebug),
        (cupy::is_event(line), Format::Cupy),
        (tflite::is_buffer(line), Format::Tflite),
        (xla::is_start(line), Format::Xla),
    ];
    known.into_iter().find(|(is_it, _)| *is_it).map(|(_, format)| format)
}

/// Returns the nearest format, and the parts of this format that are missing from the first bytes.
fn nearest(start: &[u8], header: &str) -> Option<String> {
    match start {
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => {
            return Some("text in UTF-16; convert the file to UTF-8".to_owned());
        }
        [b'(' | b'c' | b'}' | b']', ..] if start.contains(&b'.') && start.contains(&b'\n') => {
            return Some(
                "pytorch, as a pickle with protocol 0 or 1; write it with protocol 2 to 5"
                    .to_owned(),
            );
        }
        [b'[', ..] => {
            return Some(
                "json, but the file is a JSON array; write one object per line".to_owned(),
            );
        }
        _ => {}
    }
    let Err(rmm) = Header::of(header) else { return None };
    let known = ["id", "buffer", "buffer_id", "lower", "begin", "start", "upper", "end", "size"];
    let known = fields(header).filter(|name| known.contains(name)).count();
    match (rmm.known, known) {
        (0, 0) => None,
        (rmm_known, known) if rmm_known >= known => {
            Some(format!("rmm, without the column {}", rmm.missing.join(", ")))
        }
        _ => {
            let has = |names: &[&str]| fields(header).any(|name| names.contains(&name));
            let lacks = if has(&["lower", "begin", "start"]) { "size" } else { "lower" };
            Some(format!("minimalloc, without the column {lacks}"))
        }
    }
}
