//! Captures a stream into a graph.

use std::ptr;

use cudarc::driver::sys;
use sys::{CUstreamCaptureMode_enum as RawMode, CUstreamCaptureStatus_enum as RawStatus};

use super::graph::Graph;
use super::refusal::Outcome;
use super::stream::Stream;

/// How strictly a capture treats calls outside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Strict for every thread.
    Global,
    /// Strict for the capturing thread.
    ThreadLocal,
    /// Strict for no thread.
    Relaxed,
}

/// The capture status of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// The stream is not capturing.
    None,
    /// The stream is capturing.
    Active,
    /// The stream was capturing, and a call has invalidated the capture.
    Invalidated,
    /// A status that this crate does not know.
    Unknown,
}

/// The result of ending a capture. An invalidated capture returns no graph.
pub type Captured = Outcome<Graph>;

impl Mode {
    /// All three modes.
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
    /// Begins a capture on this stream.
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
        // SAFETY: the stream is live (1).
        // The output variable outlives the call.
        unsafe { call!(cuStreamEndCapture(self.raw(), &raw mut graph)) }?;
        // SAFETY: the capture ended without an error, so the driver created a graph that the caller
        // owns.
        Ok(unsafe { Graph::from_raw(graph) })
    }

    /// Returns the capture status.
    ///
    /// # Errors
    ///
    /// Returns the driver's error code.
    pub fn status(&self) -> Outcome<Status> {
        // The status is read as a number, because the driver may return values that the enum lacks.
        let mut status = u32::MAX;
        // SAFETY: the stream is live (1).
        // The enum is `repr(u32)`, so a `u32` has its layout.
        unsafe { call!(cuStreamIsCapturing(self.raw(), (&raw mut status).cast())) }?;
        let is = |known: RawStatus| known as u32 == status;
        Ok(match status {
            _ if is(RawStatus::CU_STREAM_CAPTURE_STATUS_NONE) => Status::None,
            _ if is(RawStatus::CU_STREAM_CAPTURE_STATUS_ACTIVE) => Status::Active,
            _ if is(RawStatus::CU_STREAM_CAPTURE_STATUS_INVALIDATED) => Status::Invalidated,
            _ => Status::Unknown,
        })
    }

    /// Returns the number of nodes on which the next node of a captured stream will depend.
    ///
    /// # Errors
    ///
    /// Returns the driver's error code.
    pub fn dependencies(&self) -> Outcome<usize> {
        let mut status = u32::MAX;
        let (mut id, mut graph, mut count) = (0, ptr::null_mut(), 0);
        let (mut nodes, mut edges) = (ptr::null(), ptr::null());
        // SAFETY: the stream is live (1).
        // The output variables outlive the call, and the results are not dereferenced.
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

    /// Removes all dependencies of the next node of a captured stream.
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
    // SAFETY: the variable outlives the call.
    // The driver writes back one of the three modes.
    unsafe { call!(cuThreadExchangeStreamCaptureMode(&raw mut mode)) }
}
