//! Everything that a body produces, except for the graph itself. The record includes the body's
//! steps, the memory that they use, and the work that the body enqueued on streams.

use std::sync::Arc;

use pool_driver::host_buffer::HostBuffer;

use super::model::Model;
use super::region::Region;
use super::span::Span;
use super::trace::Trace;
use crate::capture::sharing::Shares;
use crate::driver::KeptValues;

/// The record of a body that has finished.
pub(crate) struct BodyRecord {
    /// The number that identifies the capture to which the record belongs.
    pub(crate) capture: u64,
    /// A model of the order in which the body's operations run.
    pub(crate) model: Model,
    /// The body's steps.
    pub(crate) trace: Trace,
    /// The memory regions that the body uses.
    pub(crate) regions: Vec<Region>,
    /// The number of temporaries that the body has allocated.
    temporaries: usize,
    /// The spans of work that the body enqueued on streams.
    pub(crate) spans: Vec<Span>,
    /// The body's uses of the session's leased blocks.
    pub(crate) shares: Shares,
    /// The host memory from which the graph's copies read. The list contains the host arguments and
    /// the values that scopes and lent views have written to the device.
    pub(crate) host: Vec<Option<HostBuffer>>,
    /// The index of each host argument in `host`, or `None` for an argument of 0 bytes. Values
    /// written by scopes and lent views are not arguments, because writing them is not a step of
    /// the body.
    pub(crate) arguments: Vec<Option<usize>>,
    /// The values that the body's work depends on. The graph shares ownership of these values.
    pub(super) values: Option<Arc<KeptValues>>,
}

impl BodyRecord {
    /// Creates an empty record for a body that uses `streams` streams.
    pub(super) fn new(capture: u64, streams: usize, shares: Shares) -> Self {
        Self {
            capture,
            model: Model::new(streams),
            trace: Trace::default(),
            regions: Vec::new(),
            temporaries: 0,
            spans: Vec::new(),
            shares,
            host: Vec::new(),
            arguments: Vec::new(),
            values: None,
        }
    }

    /// Returns the next temporary's number. Each number is used only once.
    pub(super) fn name_temporary(&mut self) -> usize {
        self.temporaries += 1;
        self.temporaries - 1
    }
}
