//! Capturing a stream into a graph.

use std::ptr;

use cudarc::driver::sys;
use sys::{CUstreamCaptureMode_enum as RawMode, CUstreamCaptureStatus_enum as RawStatus};

use super::graph::Graph;
use super::refusal::Outcome;
use super::stream::Stream;

/// The strictness of a capture about calls outside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Strict with every thread.
    Global,
    /// Strict with the capturing thread.
    ThreadLocal,
    /// Strict with none.
    Relaxed,
}

/// The capture status of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// It does not capture.
    None,
    /// It captures.
    Active,
    /// It captured, and a call has invalidated the capture.
    Invalidated,
    /// A number that this crate does not know.
    Unknown,
}

/// The result of a capture's end: no graph if it was invalidated.
pub type Captured = Outcome<Graph>;

impl Mode {
    /// All three.
    pub const ALL: [Self; 3] = [Self::Global, Self::ThreadLocal, Self::Relaxed];

    fn raw(self) -> RawMode {
        match self {
            Self::Global => RawMode::CU_STREAM_CAPTURE_MODE_GLOBAL,
            Self::ThreadLocal => RawMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL,
            Self::Relaxed => RawMode::CU_STREAM_CAPTURE_MODE_RELAXED,
        }
    }
}

impl Stream {
    /// Begins to capture.
    ///
    /// # Errors
    ///
    /// Returns the driver's error code, here and below.
    pub fn begin_capture(&self, mode: Mode) -> Outcome<()> {
        // SAFETY: the stream is live (1).
        unsafe { call!(cuStreamBeginCapture_v2(self.raw(), mode.raw())) }
    }

    /// Ends the capture and returns the graph.
    ///
    /// # Errors
    ///
    /// Returns the driver's error code.
    pub fn end_capture(&self) -> Captured {
        let mut graph = ptr::null_mut();
        // SAFETY: the stream is live (1); the place outlives the call.
        unsafe { call!(cuStreamEndCapture(self.raw(), &raw mut graph)) }?;
        // SAFETY: the capture ended without error, so the driver made a graph and gave it to the
        // caller.
        Ok(unsafe { Graph::from_raw(graph) })
    }

    /// Returns the capture status.
    ///
    /// # Errors
    ///
    /// Returns the driver's error code.
    pub fn status(&self) -> Outcome<Status> {
        // It is read as a number: the driver may have more states than the enum.
        let mut status = u32::MAX;
        // SAFETY: the stream is live (1); the enum is `repr(u32)`, so a u32 has its layout.
        unsafe { call!(cuStreamIsCapturing(self.raw(), (&raw mut status).cast())) }?;
        let is = |known: RawStatus| known as u32 == status;
        Ok(match status {
            _ if is(RawStatus::CU_STREAM_CAPTURE_STATUS_NONE) => Status::None,
            _ if is(RawStatus::CU_STREAM_CAPTURE_STATUS_ACTIVE) => Status::Active,
            _ if is(RawStatus::CU_STREAM_CAPTURE_STATUS_INVALIDATED) => Status::Invalidated,
            _ => Status::Unknown,
        })
    }

    /// Returns the number of nodes that the next one of a captured stream depends on.
    ///
    /// # Errors
    ///
    /// Returns the driver's error code.
    pub fn dependencies(&self) -> Outcome<usize> {
        let mut status = u32::MAX;
        let (mut id, mut graph, mut count) = (0, ptr::null_mut(), 0);
        let (mut nodes, mut edges) = (ptr::null(), ptr::null());
        // SAFETY: the stream is live (1); the places outlive the call, and the results are not
        // dereferenced.
        unsafe {
            call!(cuStreamGetCaptureInfo_v3(
                self.raw(),
                (&raw mut status).cast(),
                &raw mut id,
                &raw mut graph,
                &raw mut nodes,
                &raw mut edges,
                &raw mut count
            ))
        }?;
        Ok(count)
    }

    /// Removes the dependencies of a captured stream's next node.
    ///
    /// # Errors
    ///
    /// Returns the driver's error code.
    pub fn depend_on_nothing(&self) -> Outcome<()> {
        let set = sys::CUstreamUpdateCaptureDependencies_flags::CU_STREAM_SET_CAPTURE_DEPENDENCIES;
        let (nodes, data) = (ptr::null_mut(), ptr::null());
        // SAFETY: the stream is live (1), and no nodes are passed.
        unsafe {
            call!(cuStreamUpdateCaptureDependencies_v2(self.raw(), nodes, data, 0, set as u32))
        }
    }
}

/// Sets the capture mode of the calling thread.
///
/// # Errors
///
/// Returns the driver's error code.
pub fn exchange_thread_mode(mode: Mode) -> Outcome<()> {
    let mut mode = mode.raw();
    // SAFETY: the place outlives the call; the driver writes one of the three modes back.
    unsafe { call!(cuThreadExchangeStreamCaptureMode(&raw mut mode)) }
}
