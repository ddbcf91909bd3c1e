//! The report on a log. For programs, the report is one JSON object. For people, the command prints
//! the same data as tables.

use pool_plan::{PlanError, error_chain};
use serde::Serialize;

use crate::log::{Event, Format, Frames, Pool, Stack};
use crate::policy::Allocator;

use super::device::{Device, MOST_LIFETIMES, NAMED, PoolUse, is_recorded};
use super::fault::Fault;
use super::planned::Planned;

/// The number of points of each curve.
const POINTS: usize = 64;

/// The report on a log.
#[derive(Debug, Serialize)]
pub struct Report {
    /// The name of the log.
    pub log: String,
    /// The format of the log.
    pub format: Format,
    /// The number of events.
    pub events: u64,
    /// The number of lines of the file that contain no event.
    #[serde(skip_serializing_if = "is_zero")]
    pub skipped_lines: u64,
    /// The number of operations of the graph, if the log is a graph.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operations: Option<usize>,
    /// `true` if the log contains no impossible event.
    pub consistent: bool,
    /// The capacity of each device in bytes, if one was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capacity: Option<u64>,
    /// The report on each device, sorted by device number.
    pub devices: Vec<DeviceReport>,
}

/// The report on one device of a log.
#[derive(Debug, Serialize)]
pub struct DeviceReport {
    /// The number of the device.
    pub device: u32,
    /// The number of events.
    pub events: u64,
    /// The number of buffers.
    pub buffers: u64,
    /// The number of streams that allocated memory.
    pub streams: usize,
    /// The number of buffers that were freed on a stream other than the one on which they were
    /// allocated.
    pub freed_on_another_stream: u64,
    /// The number of buffers whose bytes became free later than they were released.
    pub freed_late: u64,
    /// The maximum number of requested bytes that were live at one time.
    pub peak_live: u64,
    /// The part of the peak that owners had released, but that other streams could still use.
    pub late_at_peak: u64,
    /// The event that reached the peak, if it was recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peak_at: Option<At>,
    /// The peak of the log's own allocator, if the log reports all of the memory that it held.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held_by_log: Option<u64>,
    /// This field is set if more bytes are live than the log's own allocator holds. The log then
    /// lacks some allocations from the device, so `held_by_log` is not set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held_in_part: Option<HeldInPart>,
    /// The lower bound for every allocator, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bound: Option<u64>,
    /// The bytes that each allocator would have held.
    pub allocators: Vec<AllocatorReport>,
    /// The pools of PyTorch's allocator. The list is empty if there is no private pool.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pools: Vec<PoolReport>,
    /// The largest buffers that were live at the peak.
    pub largest_at_peak: Vec<BufferReport>,
    /// The buffers that are live at the end.
    pub live_at_end: LiveReport,
    /// The first allocations that failed.
    pub failures: Vec<EventReport>,
    /// The number of failed allocations.
    pub failure_count: u64,
    /// The first impossible events.
    pub faults: Vec<FaultReport>,
    /// The number of impossible events.
    pub fault_count: u64,
    /// The number of bytes over time.
    pub curve: CurveReport,
}

/// A contradiction between the bytes that the log's own allocator holds and the live bytes.
#[derive(Clone, Debug, Serialize)]
pub struct HeldInPart {
    /// The first event after which more bytes are live than held.
    pub at: At,
    /// The number of bytes held after the event.
    pub held: u64,
    /// The number of bytes live after the event.
    pub live: u64,
}

/// The place of an event.
#[derive(Clone, Debug, Serialize)]
pub struct At {
    /// The position of the event, which is a line, an entry of a trace, or an operation.
    pub place: String,
    /// The time in microseconds, measured from an arbitrary origin that the log chooses.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<i64>,
}

/// The bytes that an allocator would have held.
#[derive(Debug, Serialize)]
pub struct AllocatorReport {
    /// The allocator.
    pub allocator: Allocator,
    /// The maximum number of bytes held. If there is a failure, only the events before the failure
    /// are considered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held: Option<u64>,
    /// The bytes of live buffers at the peak that exceed the requested bytes, because sizes are
    /// rounded up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub padding: Option<u64>,
    /// The ratio of held bytes to the live bytes at the peak.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ratio: Option<f64>,
    /// The first event for which there was no room.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fails_at: Option<EventReport>,
    /// The reason why there is no plan.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// `true` if no plan was attempted, because there are more buffers than the planner supports.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub left_out: bool,
}

/// The buffers of one pool of PyTorch's allocator.
#[derive(Debug, Serialize)]
pub struct PoolReport {
    /// The ID of the pool, which is `(0, 0)` for the default pool. All other pools are private pools
    /// of captured graphs or of `MemPool` objects.
    pub pool: (u64, u64),
    /// The number of buffers that were allocated from the pool.
    pub buffers: u64,
    /// The maximum number of bytes of the pool that were live at one time.
    pub peak_live: u64,
    /// The maximum number of bytes that each allocator with private pools held for the pool.
    pub held: Vec<(Allocator, u64)>,
}

/// A buffer.
#[derive(Debug, Serialize)]
pub struct BufferReport {
    /// The number of requested bytes.
    pub bytes: u64,
    /// The address of the buffer.
    pub address: u64,
    /// The stream of the buffer.
    pub stream: u64,
    /// The place in the log at which the buffer was allocated.
    pub at: At,
    /// The callers as `file:line name`, innermost first.
    pub frames: Vec<String>,
}

/// The buffers that are live at the end.
#[derive(Debug, Serialize)]
pub struct LiveReport {
    /// The number of buffers.
    pub buffers: u64,
    /// The total number of bytes of these buffers.
    pub bytes: u64,
    /// The largest of these buffers.
    pub largest: Vec<BufferReport>,
}

/// An event.
#[derive(Debug, Serialize)]
pub struct EventReport {
    /// The place in the log.
    pub at: At,
    /// The number of requested bytes.
    pub bytes: u64,
    /// The stream of the event.
    pub stream: u64,
    /// The callers as `file:line name`, innermost first.
    pub frames: Vec<String>,
}

/// An impossible event.
#[derive(Debug, Serialize)]
pub struct FaultReport {
    /// A word for the kind of fault.
    pub fault: &'static str,
    /// The place in the log.
    pub at: At,
    /// A description of the mistake, with its numbers.
    pub message: String,
}

/// Quantities over the events of the device. Each point is the maximum of the quantity over a range
/// of events.
#[derive(Debug, Serialize)]
pub struct CurveReport {
    /// The number of live bytes.
    pub live: Vec<u64>,
    /// The bytes that the log's own allocator held, if the log reports them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held_by_log: Option<Vec<u64>>,
    /// The bytes that each allocator would have held.
    pub allocators: Vec<(Allocator, Vec<u64>)>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

fn at(event: &Event) -> At {
    At { place: event.place.to_string(), time: event.time }
}

/// Returns a frame as `file:line name`.
pub(crate) fn frame_text((file, line, name): (&str, i64, &str)) -> String {
    match (file, line) {
        // PyTorch's profiler does not record files.
        ("", _) | ("none", 0) => name.to_owned(),
        (file, 0) => format!("{file} {name}"),
        (file, line) => format!("{file}:{line} {name}"),
    }
}

/// Returns the frames of a stack, each as `file:line name`.
pub(crate) fn frames_of(stack: Stack, frames: &Frames) -> Vec<String> {
    frames.frames(stack).map(frame_text).collect()
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

impl DeviceReport {
    /// Returns the ratio of held bytes to the live bytes at the peak, or `None` if nothing was
    /// live.
    #[must_use]
    pub fn ratio(&self, held: u64) -> Option<f64> {
        ratio(held, self.peak_live)
    }
}

/// Returns the ratio of held bytes to live bytes, if any were live.
#[expect(clippy::cast_precision_loss, reason = "a ratio is shown with three digits")]
fn ratio(held: u64, live: u64) -> Option<f64> {
    (live > 0).then(|| held as f64 / live as f64)
}

/// Builds the report on a device. `planned` is the result of the planner, if a plan was requested.
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
            padding: Some(one.padding).filter(|_| one.failed.is_none()),
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
        late_at_peak: device.peak.late,
        peak_at: device.peak.event.as_ref().map(at),
        held_by_log: device.held().map(|(_, most)| most),
        held_in_part: device.shortfall.as_ref().map(|short| HeldInPart {
            at: at(&short.event),
            held: short.held,
            live: short.live,
        }),
        bound: match planned {
            Some(Planned::Plan(certificate)) => Some(certificate.bound),
            _ => None,
        },
        allocators,
        pools: pools(device),
        largest_at_peak: device.peak.largest.iter().map(|one| buffer(&one.event, frames)).collect(),
        live_at_end,
        failures: device.failures.first.iter().map(|one| event_report(one, frames)).collect(),
        failure_count: device.failures.count,
        faults: device.faults.first.iter().map(fault).collect(),
        fault_count: device.faults.count,
        curve: CurveReport {
            live: column(0),
            held_by_log: device.held().map(|_| column(1)),
            allocators: curves.collect(),
        },
    }
}

/// Returns the report on each pool, or nothing if all buffers are in the default pool.
fn pools(device: &Device) -> Vec<PoolReport> {
    if device.pools.keys().all(|&pool| pool == Pool::DEFAULT) {
        return Vec::new();
    }
    let held = |pool: &Pool| {
        let all = device.simulations.iter();
        all.filter_map(|one| Some((one.allocator, *one.held_by.get(pool)?))).collect()
    };
    let report = |(pool, one): (&Pool, &PoolUse)| PoolReport {
        pool: (pool.0, pool.1),
        buffers: one.buffers,
        peak_live: one.peak,
        held: held(pool),
    };
    device.pools.iter().map(report).collect()
}

fn planner(device: &Device, planned: &Planned, frames: &Frames) -> AllocatorReport {
    let (held, message) = match planned {
        Planned::Plan(certificate) => (Some(certificate.peak), None),
        Planned::Nothing => (Some(0), None),
        Planned::TooMany => (
            None,
            Some(format!("the log has more than {MOST_LIFETIMES} buffers, the maximum for a plan")),
        ),
        Planned::Refused(error) => (None, Some(error_chain(error))),
    };
    AllocatorReport {
        allocator: Allocator::Planned,
        held,
        padding: None,
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
