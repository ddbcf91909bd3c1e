//! `pool-plan export`: read, follow, write.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::process::ExitCode;

use crate::error_chain;

use crate::command::arguments::{Export, Target};
use crate::command::output::complain;
use crate::command::replay::open;
use crate::log::{self, Frames, Line, LogError};
use crate::replay::Fault;

use super::recording::{Buffer, Recording};
use super::{memory_viz, perfetto, picture, problem};

const BAD_INPUT: u8 = 2;
const INCONSISTENT: u8 = 3;

/// Exports a log.
pub(crate) fn run(arguments: &Export) -> ExitCode {
    let name = arguments.file.display();
    let recording = match read(arguments) {
        Ok(Ok(recording)) => recording,
        Ok(Err(fault)) => {
            complain(&format!("error: {name}: {}: {fault}", fault.event.place));
            return ExitCode::from(INCONSISTENT);
        }
        Err(error) => {
            complain(&format!("error: {name}: {}", error_chain(&error)));
            return ExitCode::from(BAD_INPUT);
        }
    };
    if let Err(message) = write(arguments, &recording) {
        complain(&format!("error: {name}: {message}"));
        return ExitCode::from(BAD_INPUT);
    }
    ExitCode::SUCCESS
}

fn read(arguments: &Export) -> Result<Result<Recording, Fault>, LogError> {
    let (mut source, format) = open(&arguments.file, arguments.from)?;
    let (mut events, mut frames) = (Vec::new(), Frames::new());
    log::read(&mut source, format, &mut frames, &mut |event| events.push(event))?;
    source.into_inner().progress.finish_and_clear();
    Ok(Recording::new(events, frames))
}

fn write(arguments: &Export, recording: &Recording) -> Result<(), String> {
    // What cannot be written is found out before a file is made.
    let device = device(arguments, recording)?;
    let mut to: Box<dyn Write> = match &arguments.out {
        Some(path) => {
            let file =
                File::create(path).map_err(|error| format!("{}: {error}", path.display()))?;
            Box::new(BufWriter::new(file))
        }
        None => Box::new(BufWriter::new(io::stdout().lock())),
    };
    let written = match arguments.to {
        Target::MemoryViz => memory_viz::write(recording, &mut to),
        Target::Perfetto => perfetto::write(recording, &mut to),
        Target::Csv => problem::write(device, &mut to),
        Target::Json => lines(recording, &mut to),
        Target::Svg => picture::write(recording, device, &mut to),
    };
    written.map_err(|error| error.to_string())
}

/// The buffers of the device that a problem or picture is of.
fn device<'a>(arguments: &Export, recording: &'a Recording) -> Result<&'a [Buffer], String> {
    let devices = &recording.devices;
    if !matches!(arguments.to, Target::Csv | Target::Svg) {
        let refused = Err("--device is for csv and svg: the others have all devices".to_owned());
        return if arguments.device.is_some() { refused } else { Ok(&[]) };
    }
    let buffers = match arguments.device {
        Some(device) => devices.get(&device).ok_or(format!("there is no device {device}"))?,
        None if devices.len() <= 1 => devices.values().next().map_or(&[][..], |buffers| buffers),
        None => {
            let names: Vec<String> = devices.keys().map(ToString::to_string).collect();
            return Err(format!("--device says which of the devices: {}", names.join(", ")));
        }
    };
    if buffers.is_empty() { Err("there are no buffers".to_owned()) } else { Ok(buffers) }
}

/// This project's own log.
fn lines(recording: &Recording, mut to: impl Write) -> io::Result<()> {
    for event in &recording.events {
        serde_json::to_writer(&mut to, &Line::of(event, &recording.frames))?;
        writeln!(to)?;
    }
    to.flush()
}
