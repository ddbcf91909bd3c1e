//! `pool-plan replay` reads a log, replays it and prints the report.

use std::io::{self, Write as _};
use std::process::ExitCode;

use pool_plan::error_chain;
use pool_replay::{LogError, Outcome, Report};
use serde_json::json;

use crate::arguments::Replay;
use crate::open::open;
use crate::output::{self, complain, complain_of_output};

use super::table;

const SUCCESS: u8 = 0;
const NO_ROOM: u8 = 1;
const BAD_INPUT: u8 = 2;
const INCONSISTENT: u8 = 3;

/// Replays a log.
pub(crate) fn run(arguments: &Replay) -> ExitCode {
    let report = match replay(arguments) {
        Ok(report) => report,
        Err(error) => return refuse(arguments, &error),
    };
    if let Err(error) = print(&report, arguments.json) {
        complain_of_output(&error);
        return ExitCode::from(BAD_INPUT);
    }
    let code = match report.outcome() {
        Outcome::Fits => SUCCESS,
        Outcome::NoRoom => NO_ROOM,
        Outcome::LeftOut => BAD_INPUT,
        Outcome::Inconsistent => INCONSISTENT,
    };
    if code == BAD_INPUT {
        complain(&format!("error: {}: no plan was computed: {}", report.log, left_out(&report)));
    }
    ExitCode::from(code)
}

fn replay(arguments: &Replay) -> Result<Report, LogError> {
    let mut log = open(&arguments.file, arguments.from)?;
    let name = arguments.file.display().to_string();
    let bar = log.progress;
    let replay = arguments.replay(log.format);
    // The bar ends when the file has been read, because planning has no progress bar.
    replay.read_watched(name, &mut log.source, &|| bar.finish_and_clear())
}

/// Returns the reason why a plan was left out.
fn left_out(report: &Report) -> &str {
    let mut all = report.devices.iter().flat_map(|device| &device.allocators);
    all.find_map(|one| one.message.as_deref()).unwrap_or_default()
}

fn print(report: &Report, as_json: bool) -> io::Result<()> {
    let mut to = io::BufWriter::new(io::stdout().lock());
    if as_json {
        serde_json::to_writer(&mut to, report)?;
        writeln!(to)?;
    } else {
        table::print(report, &mut to)?;
    }
    to.flush()
}

fn refuse(arguments: &Replay, error: &LogError) -> ExitCode {
    let message = format!("{}: {}", arguments.file.display(), error_chain(error));
    let object = arguments.json.then(|| json!({ "error": message }));
    output::refuse(object.as_ref(), &message);
    ExitCode::from(BAD_INPUT)
}
