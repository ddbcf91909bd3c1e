//! Reads a log once, then plans its buffers, and then builds the report.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, Seek};
use std::path::Path;

use crate::log::{self, Event, Format, Frames, LogError, Selection, Source, Told};
use crate::policy::Allocator;
use pool_plan::{HappensBeforeProblem, Options};

use super::device::Device;
use super::planned::{Order, plan};
use super::report::{self, Report};

/// The settings of a replay.
#[derive(Clone, Debug)]
pub struct Replay {
    /// The format of the log. If the format is `None`, it is detected from the first bytes.
    pub format: Option<Format>,
    /// The part of the log that is replayed.
    pub selection: Selection,
    /// The allocators to simulate, in the order in which the report lists them.
    pub allocators: Vec<Allocator>,
    /// The capacity of each device in bytes. If a capacity is set, the report names the first event
    /// for which there is no room.
    pub capacity: Option<u64>,
    /// The initial size of RMM's pool in bytes, which is limited to the capacity.
    pub pool_size: u64,
    /// The minimum alignment of every buffer in the plan, in bytes. It must be a power of two.
    pub alignment: u64,
    /// The options for planning each device. The capacity in these options is ignored.
    pub options: Options,
}

/// Selects all allocators, no capacity, no alignment, and a budget of two seconds for the plan of
/// each device.
impl Default for Replay {
    fn default() -> Self {
        let budget = std::time::Duration::from_secs(2);
        Self {
            format: None,
            selection: Selection::default(),
            allocators: Allocator::ALL.to_vec(),
            capacity: None,
            pool_size: 0,
            alignment: 1,
            options: Options { budget, ..Options::default() },
        }
    }
}

impl Replay {
    /// Replays a file, which may be compressed with gzip or be an archive of `torch.save`.
    ///
    /// # Errors
    /// Fails if the file cannot be read or does not match the format. The error states the line or
    /// the byte. An impossible event is not an error, but is reported as a fault.
    pub fn file(&self, path: impl AsRef<Path>) -> Result<Report, LogError> {
        let path = path.as_ref();
        let mut source = Source::new(File::open(path)?)?;
        self.read(path.display().to_string(), &mut source)
    }

    /// Replays a log from a reader. `name` is the name of the log in the report.
    ///
    /// # Errors
    /// Fails for the same reasons as [`file`](Self::file).
    pub fn read(
        &self,
        name: impl Into<String>,
        source: &mut (impl BufRead + Seek),
    ) -> Result<Report, LogError> {
        self.read_watched(name, source, &|| ())
    }

    /// Replays a log in the same way as [`read`](Self::read), and calls `is_read` when the log has
    /// been read, before planning begins. A progress bar can end at this point.
    ///
    /// # Errors
    /// Fails for the same reasons as [`file`](Self::file).
    pub fn read_watched(
        &self,
        name: impl Into<String>,
        source: &mut (impl BufRead + Seek),
        is_read: &dyn Fn(),
    ) -> Result<Report, LogError> {
        let format = match self.format {
            Some(format) => format,
            None => Format::of(source)?,
        };
        let capacity = self.capacity.unwrap_or(u64::MAX);
        let mut frames = Frames::new();
        let mut devices: BTreeMap<u32, Device> = BTreeMap::new();
        let mut events = 0;
        let mut sink = |event: Event| {
            events += 1;
            let new = || Device::new(&self.allocators, capacity, self.pool_size);
            devices.entry(event.device).or_insert_with(new).event(event);
        };
        let Told { graph, skipped } =
            log::read_by_device(source, format, &self.selection, &mut frames, &mut sink)?;
        is_read();
        let graph = graph.as_ref();
        let report =
            |(&number, device): (&u32, &mut Device)| self.device(number, device, graph, &frames);
        let reports = devices.iter_mut().map(report).collect();
        Ok(Report {
            log: name.into(),
            format,
            events,
            skipped_lines: skipped,
            operations: graph.map(HappensBeforeProblem::operations),
            consistent: devices.values().all(|device| device.faults.count == 0),
            capacity: self.capacity,
            devices: reports,
        })
    }

    /// Replays events that are stored in memory. There is no graph that orders the events.
    pub(crate) fn events(&self, events: &[Event], frames: &Frames) -> Vec<report::DeviceReport> {
        let capacity = self.capacity.unwrap_or(u64::MAX);
        let mut devices: BTreeMap<u32, Device> = BTreeMap::new();
        for &event in events {
            let new = || Device::new(&self.allocators, capacity, self.pool_size);
            devices.entry(event.device).or_insert_with(new).event(event);
        }
        let report =
            |(&number, device): (&u32, &mut Device)| self.device(number, device, None, frames);
        devices.iter_mut().map(report).collect()
    }

    /// Ends a device, plans its buffers if requested, and builds its report.
    fn device(
        &self,
        number: u32,
        device: &mut Device,
        graph: Option<&HappensBeforeProblem>,
        frames: &Frames,
    ) -> report::DeviceReport {
        device.end();
        let planned = self.allocators.contains(&Allocator::Planned).then(|| {
            let lifetimes = device.lifetimes.as_deref();
            let order = graph.map_or(Order::Sequence(lifetimes), Order::Graph);
            let options = Options { capacity: None, ..self.options.clone() };
            plan(order, self.alignment, self.capacity.unwrap_or(u64::MAX), &options)
        });
        report::device(number, device, planned.as_ref(), frames)
    }
}
