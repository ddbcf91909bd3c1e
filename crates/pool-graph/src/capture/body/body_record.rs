//! The results of a body other than the graph: its steps, their memory, and their work on streams.

use std::sync::Arc;

use pool_driver::host_buffer::HostBuffer;

use super::model::Model;
use super::region::Region;
use super::span::Span;
use super::trace::Trace;
use crate::capture::sharing::Shares;
use crate::driver::KeptValues;

/// The record of a finished body.
pub(crate) struct BodyRecord {
    /// The number of the capture.
    pub(crate) capture: u64,
    /// The order that the body's operations establish.
    pub(crate) model: Model,
    /// The steps of the body.
    pub(crate) trace: Trace,
    /// The memory that the body uses.
    pub(crate) regions: Vec<Region>,
    /// The number of temporaries among the regions.
    temporaries: usize,
    /// The spans of the body's work on streams.
    pub(crate) spans: Vec<Span>,
    /// The uses of the session's blocks.
    pub(crate) shares: Shares,
    /// The host memory that copies in the graph read: host arguments, and values written by scopes
    /// and lent views.
    pub(crate) host: Vec<Option<HostBuffer>>,
    /// The index of each host argument in `host`. An argument of 0 bytes needs no memory. Values
    /// written by scopes and lent views are not arguments, because those writes are not steps.
    pub(crate) arguments: Vec<Option<usize>>,
    /// The values that the work of the body needs. The graph also owns them.
    pub(super) values: Option<Arc<KeptValues>>,
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
            values: None,
        }
    }

    /// Returns the number of the next temporary. Numbers are never reused.
    pub(super) fn name_temporary(&mut self) -> usize {
        self.temporaries += 1;
        self.temporaries - 1
    }
}
