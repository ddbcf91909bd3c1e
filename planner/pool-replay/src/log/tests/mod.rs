//! Tests the readers with hand-made files, every prefix of them, mutations, and files that demand
//! too much.

mod cases;
mod others;
mod pickles;
mod streams;
mod text;

use std::io::Cursor;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use super::*;
use pickles::snapshot;
use text::{JSON, MINIMALLOC, PROBLEM, RMM};

fn events_from(bytes: &[u8], format: Option<Format>) -> Result<(Vec<Event>, Frames), LogError> {
    let mut source = Cursor::new(bytes);
    let format = match format {
        Some(format) => format,
        None => Format::of(&mut source)?,
    };
    let (mut events, mut frames) = (Vec::new(), Frames::new());
    read(&mut source, format, &Selection::default(), &mut frames, &mut |event| {
        events.push(event);
    })?;
    Ok((events, frames))
}

fn events(text: &[u8]) -> Vec<Event> {
    events_from(text, None).unwrap().0
}

fn message(bytes: &[u8]) -> String {
    pool_plan::error_chain(&events_from(bytes, None).unwrap_err())
}

fn samples() -> [(Format, Vec<u8>); 10] {
    [
        (Format::Rmm, RMM.into()),
        (Format::Json, JSON.into()),
        (Format::Minimalloc, MINIMALLOC.into()),
        (Format::Pytorch, snapshot()),
        (Format::Problem, PROBLEM.into()),
        (Format::Rmm, others::EVENT_LOG.into()),
        (Format::RmmDebug, others::DEBUG.into()),
        (Format::Cupy, others::CUPY.into()),
        (Format::Tflite, others::TFLITE.into()),
        (Format::Xla, others::XLA.into()),
    ]
}

/// Every prefix is either read or refused with a typed error. A prefix of a pickle is always
/// refused at its end.
#[test]
fn truncated_at_every_byte() {
    for (format, sample) in samples() {
        assert_eq!(Format::of(&mut Cursor::new(&sample)).unwrap(), format);
        for length in 0..sample.len() {
            let outcome = events_from(&sample[..length], Some(format));
            if format == Format::Pytorch {
                // The prefixes of all other formats end at a line end, or within a line.
                let error = pool_plan::error_chain(&outcome.unwrap_err());
                assert!(error.ends_with("the file ends before the pickle is complete"), "{error}");
            }
        }
    }
}

/// A file whose first bytes can be read, but not the rest.
struct Failing(Cursor<Vec<u8>>, u64);

impl std::io::Read for Failing {
    fn read(&mut self, to: &mut [u8]) -> std::io::Result<usize> {
        let left = usize::try_from(self.1 - self.0.position()).unwrap().min(to.len());
        if left == 0 {
            return Err(std::io::Error::other("the disk is gone"));
        }
        std::io::Read::read(&mut self.0, &mut to[..left])
    }
}

impl Seek for Failing {
    fn seek(&mut self, to: std::io::SeekFrom) -> std::io::Result<u64> {
        self.0.seek(to)
    }
}

/// If a file can only be read up to some byte, the result is a read error. The error is never
/// mistaken for the end of the file.
#[test]
fn files_that_cannot_be_read_on() {
    for (format, sample) in samples() {
        for length in 0..sample.len() {
            let file = Failing(Cursor::new(sample.clone()), length as u64);
            let mut source = std::io::BufReader::with_capacity(16, file);
            let whole = Selection::default();
            let outcome = read(&mut source, format, &whole, &mut Frames::new(), &mut |_| {});
            assert!(matches!(outcome, Err(LogError::Io(_))), "{format:?} {length}: {outcome:?}");
        }
    }
}

/// A reader terminates, whatever bytes are changed, removed or repeated.
#[test]
fn mutations_never_panic() {
    let cases = std::env::var("POOL_TEST_CASES").ok().and_then(|text| text.parse().ok());
    let config = Config { failure_persistence: None, ..Config::with_cases(cases.unwrap_or(1000)) };
    let edits = proptest::collection::vec((any::<u16>(), any::<u8>(), 0..4_u8), 1..8);
    let read_and_mutate = |(sample, edits): (usize, Vec<(u16, u8, u8)>)| {
        let (format, mut bytes) = samples()[sample].clone();
        for (at, byte, edit) in edits {
            let at = usize::from(at) % bytes.len().max(1);
            match edit {
                0 => bytes.insert(at, byte),
                1 if !bytes.is_empty() => drop(bytes.remove(at)),
                2 if !bytes.is_empty() => bytes.extend_from_within(at..),
                _ => bytes.iter_mut().skip(at).take(1).for_each(|one| *one = byte),
            }
        }
        if let Ok((events, frames)) = events_from(&bytes, Some(format)) {
            events.iter().for_each(|event| {
                frames.frames(event.stack).for_each(drop);
            });
        }
        Ok(())
    };
    let outcome = TestRunner::new(config).run(&(0..10_usize, edits), read_and_mutate);
    assert!(outcome.is_ok(), "{outcome:?}");
}

/// A log of a million equal lines is read line by line.
#[test]
fn million_equal_lines() {
    let header = "Thread,Time,Action,Pointer,Size,Stream\n";
    let line = "1,16:48:38.000002,allocate,0x7f00,256,0\n";
    let text = format!("{header}{}", line.repeat(1_000_000));
    let mut count = 0;
    let mut source = Cursor::new(text.as_bytes());
    let whole = Selection::default();
    read(&mut source, Format::Rmm, &whole, &mut Frames::new(), &mut |_| count += 1).unwrap();
    assert_eq!(count, 1_000_000);
}
