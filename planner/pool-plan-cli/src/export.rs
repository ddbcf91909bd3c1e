//! `pool-plan export` reads a log, follows its events, and writes the log in another form.

use std::io::{self, BufWriter, Write};
use std::process::ExitCode;

use pool_plan::error_chain;
use pool_replay::Replay;
use pool_replay::export::{Recording, RecordingError};

use crate::arguments::{Export, Target};
use crate::file::WholeFile;
use crate::open::open;
use crate::output::complain;

const BAD_INPUT: u8 = 2;
const INCONSISTENT: u8 = 3;

/// Exports a log.
pub(crate) fn run(arguments: &Export) -> ExitCode {
    let name = arguments.file.display();
    let recording = match read(arguments) {
        Ok(recording) => recording,
        Err(error) => {
            complain(&format!("error: {name}: {}", error_chain(&error)));
            let is_inconsistent = matches!(error, RecordingError::Inconsistent { .. });
            return ExitCode::from(if is_inconsistent { INCONSISTENT } else { BAD_INPUT });
        }
    };
    if let Err(message) = write(arguments, &recording) {
        complain(&format!("error: {name}: {message}"));
        return ExitCode::from(BAD_INPUT);
    }
    ExitCode::SUCCESS
}

fn read(arguments: &Export) -> Result<Recording, RecordingError> {
    let mut log = open(&arguments.file, arguments.from)?;
    let selection = arguments.part.selection(arguments.from);
    let recording = Recording::read_part(&mut log.source, log.format, &selection)?;
    log.progress.finish_and_clear();
    Ok(recording)
}

fn write(arguments: &Export, recording: &Recording) -> Result<(), String> {
    // Errors of the form are found before a file is created.
    let device = device(arguments, recording)?;
    let Some(path) = &arguments.out else {
        let mut to = BufWriter::new(io::stdout().lock());
        return write_form(arguments, device, recording, &mut to)
            .map_err(|error| format!("standard output: {error}"));
    };
    let write = || {
        let mut file = WholeFile::create(path)?;
        write_form(arguments, device, recording, &mut file)?;
        file.finish()
    };
    write().map_err(|error| format!("{}: {error}", path.display()))
}

fn write_form(
    arguments: &Export,
    device: u32,
    recording: &Recording,
    to: &mut impl Write,
) -> io::Result<()> {
    match arguments.to {
        Target::MemoryViz => recording.write_memory_viz(to),
        Target::Perfetto => recording.write_perfetto(to),
        Target::Csv => recording.write_csv(device, to),
        Target::Json => recording.write_json(to),
        Target::Svg => recording.write_svg(device, to),
        Target::Html => {
            let name = arguments.file.display().to_string();
            recording.write_html(&name, &Replay::default(), to)
        }
    }
}

/// Returns the device of a problem or picture. Returns 0 for the forms that contain all devices.
fn device(arguments: &Export, recording: &Recording) -> Result<u32, String> {
    if !matches!(arguments.to, Target::Csv | Target::Svg) {
        let refused = Err("--device cannot be used with this format: only csv and svg contain a \
                           single device"
            .to_owned());
        return if arguments.device.is_some() { refused } else { Ok(0) };
    }
    let devices: Vec<u32> = recording.devices().collect();
    let device = match (arguments.device, &devices[..]) {
        (Some(device), all) if all.contains(&device) => device,
        (Some(device), _) => return Err(format!("the log has no device {device}")),
        (None, []) => 0,
        (None, [only]) => *only,
        (None, several) => {
            let names: Vec<String> = several.iter().map(ToString::to_string).collect();
            return Err(format!(
                "the log has several devices: select one with --device ({})",
                names.join(", ")
            ));
        }
    };
    if recording.buffers(device) == 0 {
        return Err("the device has no buffers".to_owned());
    }
    Ok(device)
}
