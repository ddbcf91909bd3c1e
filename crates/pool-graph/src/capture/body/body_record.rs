//! The results of a body besides the graph: its steps, their memory, and their work on streams.

use pool_driver::host_buffer::HostBuffer;

use super::model::Model;
use super::region::Region;
use super::span::Span;
use super::trace::Trace;
use crate::capture::sharing::Shares;

/// The record of a finished body.
pub(crate) struct BodyRecord {
    /// The number of the capture.
    pub(crate) capture: u64,
    /// The order that the body establishes.
    pub(crate) model: Model,
    /// The steps of the body.
    pub(crate) trace: Trace,
    /// The memory that the body uses.
    pub(crate) regions: Vec<Region>,
    /// The number of temporaries among the regions.
    temporaries: usize,
    /// The pieces of its work on streams.
    pub(crate) spans: Vec<Span>,
    /// The uses of the session's blocks.
    pub(crate) shares: Shares,
    /// The host memory that copies of the graph read: host arguments, and values of scopes and lent
    /// views.
    pub(crate) host: Vec<Option<HostBuffer>>,
    /// The index of each host argument in `host`; one of 0 bytes needs no memory. Scopes and lent
    /// views are not steps, so their host memory has no part in the names of arguments.
    pub(crate) arguments: Vec<Option<usize>>,
}

impl BodyRecord {
    /// Creates the record of an empty body on `streams` streams.
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
        }
    }

    /// Returns the number of the next temporary, which is never reused.
    pub(super) fn name_temporary(&mut self) -> usize {
        self.temporaries += 1;
        self.temporaries - 1
    }
}
