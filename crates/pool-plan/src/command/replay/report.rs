//! What `replay` says of a log, as one JSON object for programs; `table.rs` prints the same for people.

use pool_plan::{PlanError, error_chain};
use serde::Serialize;

use crate::log::{Event, Format, Frames, Stack};
use crate::policy::Allocator;

use super::device::{Device, NAMED, is_recorded};
use super::fault::Fault;
use super::planned::Planned;

/// Points of the curves.
const POINTS: usize = 64;

/// A log.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    pub(crate) log: String,
    pub(crate) format: Format,
    pub(crate) events: u64,
    /// How many operations a graph has, where the log is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) operations: Option<usize>,
    pub(crate) consistent: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) capacity: Option<u64>,
    pub(crate) devices: Vec<DeviceReport>,
}

/// One device of a log.
#[derive(Debug, Serialize)]
pub(crate) struct DeviceReport {
    pub(crate) device: u32,
    pub(crate) events: u64,
    pub(crate) buffers: u64,
    pub(crate) streams: usize,
    pub(crate) freed_on_another_stream: u64,
    pub(crate) freed_late: u64,
    pub(crate) peak_live: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) peak_at: Option<At>,
    /// What the log's own allocator held at most, where the log says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) held_by_log: Option<u64>,
    /// What no allocator can be below.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) bound: Option<u64>,
    pub(crate) allocators: Vec<AllocatorReport>,
    pub(crate) largest_at_peak: Vec<BufferReport>,
    pub(crate) live_at_end: LiveReport,
    pub(crate) failures: Vec<EventReport>,
    pub(crate) failure_count: u64,
    pub(crate) faults: Vec<FaultReport>,
    pub(crate) fault_count: u64,
    pub(crate) curve: CurveReport,
}

/// Where an event is.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct At {
    pub(crate) place: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) time: Option<i64>,
}

/// What an allocator would have held.
#[derive(Debug, Serialize)]
pub(crate) struct AllocatorReport {
    pub(crate) allocator: Allocator,
    /// The most bytes held; up to the failure, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) held: Option<u64>,
    /// Bytes held for each byte live at the peak.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ratio: Option<f64>,
    /// The first event for which there was no room.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) fails_at: Option<EventReport>,
    /// Why there is no plan.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) message: Option<String>,
    /// Whether no plan was sought, because there is more to plan than the planner takes.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) left_out: bool,
}

/// Whether an allocator does with a capacity.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) enum Verdict {
    /// There is room for all.
    Fits,
    /// Nobody has tried.
    Unknown,
    /// Some event has no room, or no plan was found.
    Fails,
}

impl AllocatorReport {
    /// Whether the allocator does without more than the capacity.
    pub(crate) fn verdict(&self) -> Verdict {
        match (&self.fails_at, self.left_out, &self.message) {
            (Some(_), ..) | (None, false, Some(_)) => Verdict::Fails,
            (None, true, _) => Verdict::Unknown,
            (None, false, None) => Verdict::Fits,
        }
    }
}

/// A buffer.
#[derive(Debug, Serialize)]
pub(crate) struct BufferReport {
    pub(crate) bytes: u64,
    pub(crate) address: u64,
    pub(crate) stream: u64,
    pub(crate) at: At,
    pub(crate) frames: Vec<String>,
}

/// What is live at the end.
#[derive(Debug, Serialize)]
pub(crate) struct LiveReport {
    pub(crate) buffers: u64,
    pub(crate) bytes: u64,
    pub(crate) largest: Vec<BufferReport>,
}

/// An event.
#[derive(Debug, Serialize)]
pub(crate) struct EventReport {
    pub(crate) at: At,
    pub(crate) bytes: u64,
    pub(crate) stream: u64,
    pub(crate) frames: Vec<String>,
}

/// An event that cannot be.
#[derive(Debug, Serialize)]
pub(crate) struct FaultReport {
    pub(crate) fault: &'static str,
    pub(crate) at: At,
    pub(crate) message: String,
}

/// Quantities over the events of the device, each point the most of its part.
#[derive(Debug, Serialize)]
pub(crate) struct CurveReport {
    pub(crate) live: Vec<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) held_by_log: Option<Vec<u64>>,
    pub(crate) allocators: Vec<(Allocator, Vec<u64>)>,
}

fn at(event: &Event) -> At {
    At { place: event.place.to_string(), time: event.time }
}

/// The frames of a stack, `file:line name`.
pub(crate) fn frames_of(stack: Stack, frames: &Frames) -> Vec<String> {
    let frame = |(file, line, name): (&str, i64, &str)| match (file, line) {
        // PyTorch's profiler has no files.
        ("", _) | ("none", 0) => name.to_owned(),
        (file, 0) => format!("{file} {name}"),
        (file, line) => format!("{file}:{line} {name}"),
    };
    frames.frames(stack).map(frame).collect()
}

fn buffer(event: &Event, frames: &Frames) -> BufferReport {
    let (bytes, address, stream) = (event.asked(), event.address, event.stream);
    BufferReport { bytes, address, stream, at: at(event), frames: frames_of(event.stack, frames) }
}

fn event_report(event: &Event, frames: &Frames) -> EventReport {
    let frames = frames_of(event.stack, frames);
    EventReport { at: at(event), bytes: event.asked(), stream: event.stream, frames }
}

fn fault(fault: &Fault) -> FaultReport {
    let (fault_name, message) = (fault.kind.name(), fault.to_string());
    FaultReport { fault: fault_name, at: at(&fault.event), message }
}

/// Bytes held for each byte live, if any were.
#[expect(clippy::cast_precision_loss, reason = "a ratio is shown with three digits")]
pub(crate) fn ratio(held: u64, live: u64) -> Option<f64> {
    (live > 0).then(|| held as f64 / live as f64)
}

/// The report of a device; `planned` is what the planner says, if it was asked.
pub(crate) fn device(
    number: u32,
    device: &Device,
    planned: Option<&Planned>,
    frames: &Frames,
) -> DeviceReport {
    let peak = device.peak.bytes;
    let points = device.curve.points(POINTS);
    let column = |at: usize| points.iter().map(|point| point[at]).collect::<Vec<_>>();
    let mut live: Vec<_> = device.books.live().collect();
    let live_at_end = LiveReport {
        buffers: live.len() as u64,
        bytes: device.books.bytes(),
        largest: {
            live.sort_by_key(|one| std::cmp::Reverse((one.event.asked(), one.event.address)));
            live.iter().take(NAMED).map(|one| buffer(&one.event, frames)).collect()
        },
    };
    let mut allocators: Vec<AllocatorReport> = Vec::new();
    for one in &device.simulations {
        allocators.push(AllocatorReport {
            allocator: one.allocator,
            held: Some(one.held),
            ratio: ratio(one.held, peak).filter(|_| one.failed.is_none()),
            fails_at: one.failed.as_ref().map(|event| event_report(event, frames)),
            message: None,
            left_out: false,
        });
    }
    allocators.extend(planned.map(|planned| planner(device, planned, frames)));
    let curves = (2..).zip(&device.simulations).map(|(at, one)| (one.allocator, column(at)));
    DeviceReport {
        device: number,
        events: device.books.events(),
        buffers: device.books.buffers(),
        streams: device.streams.len(),
        freed_on_another_stream: device.freed_elsewhere,
        freed_late: device.freed_late,
        peak_live: peak,
        peak_at: device.peak.event.as_ref().map(at),
        held_by_log: device.reserved.map(|(_, most)| most),
        bound: match planned {
            Some(Planned::Plan(certificate)) => Some(certificate.bound),
            _ => None,
        },
        allocators,
        largest_at_peak: device.peak.largest.iter().map(|one| buffer(&one.event, frames)).collect(),
        live_at_end,
        failures: device.failures.first.iter().map(|one| event_report(one, frames)).collect(),
        failure_count: device.failures.count,
        faults: device.faults.first.iter().map(fault).collect(),
        fault_count: device.faults.count,
        curve: CurveReport {
            live: column(0),
            held_by_log: device.reserved.map(|_| column(1)),
            allocators: curves.collect(),
        },
    }
}

fn planner(device: &Device, planned: &Planned, frames: &Frames) -> AllocatorReport {
    let (held, message) = match planned {
        Planned::Plan(certificate) => (Some(certificate.peak), None),
        Planned::Nothing => (Some(0), None),
        Planned::TooMany => (None, Some("more buffers than are planned".to_owned())),
        Planned::Refused(error) => (None, Some(error_chain(error))),
    };
    AllocatorReport {
        allocator: Allocator::Planned,
        held,
        ratio: held.and_then(|held| ratio(held, device.peak.bytes)),
        fails_at: device
            .over
            .as_ref()
            .filter(|event| is_recorded(event))
            .map(|event| event_report(event, frames)),
        message,
        left_out: match planned {
            Planned::Plan(_) | Planned::Nothing => false,
            Planned::TooMany => true,
            Planned::Refused(error) => !matches!(
                error,
                PlanError::Infeasible { .. }
                    | PlanError::ProvedInfeasible { .. }
                    | PlanError::NotFound { .. }
            ),
        },
    }
}
