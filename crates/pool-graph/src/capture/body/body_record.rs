//! What comes out of a body, besides the graph: its steps, what they took and used, and what they put on streams.

use pool_driver::host_buffer::HostBuffer;

use super::model::Model;
use super::region::Region;
use super::span::Span;
use super::trace::Trace;
use crate::capture::sharing::Shares;

/// What a body did.
pub(crate) struct BodyRecord {
    /// The number of the capture.
    pub(crate) capture: u64,
    /// What the body orders.
    pub(crate) model: Model,
    /// The steps of the body.
    pub(crate) trace: Trace,
    /// The memory that the body uses.
    pub(crate) regions: Vec<Region>,
    /// How many of the regions are temporaries.
    temporaries: usize,
    /// The pieces of what was put on streams.
    pub(crate) spans: Vec<Span>,
    /// What the blocks of the session are used for.
    pub(crate) shares: Shares,
    /// What copies of the graph read: host arguments, and values of scopes and lent views.
    pub(crate) host: Vec<Option<HostBuffer>>,
    /// Where each host argument is in `host`; one of no bytes needs no memory. Scopes and lent views are no steps,
    /// so what they put there has no part in the names of arguments.
    pub(crate) arguments: Vec<Option<usize>>,
}

impl BodyRecord {
    /// The record of a body that has done nothing yet, on so many streams.
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

    /// The number of the next temporary, which is not given again.
    pub(super) fn name_temporary(&mut self) -> usize {
        self.temporaries += 1;
        self.temporaries - 1
    }
}
