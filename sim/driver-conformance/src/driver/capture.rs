//! Capturing a stream into a graph.

use std::ptr;

use cudarc::driver::sys;
use sys::{CUstreamCaptureMode_enum as RawMode, CUstreamCaptureStatus_enum as RawStatus};

use super::graph::Graph;
use super::refusal::Outcome;
use super::stream::Stream;

/// How strict a capture is about calls that are no part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// With every thread.
    Global,
    /// With the thread that captures.
    ThreadLocal,
    /// With none.
    Relaxed,
}

/// Where a stream stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// It does not capture.
    None,
    /// It captures.
    Active,
    /// It captured, and a call has spoiled it.
    Invalidated,
    /// A number that this crate does not know.
    Unknown,
}

/// What the end of a capture gives: no graph where it was spoiled.
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
    /// What the driver answers, here and below.
    pub fn begin_capture(&self, mode: Mode) -> Outcome<()> {
        // SAFETY: the stream is live (1).
        unsafe { call!(cuStreamBeginCapture_v2(self.raw(), mode.raw())) }
    }

    /// Ends it and takes the graph.
    ///
    /// # Errors
    ///
    /// What the driver answers.
    pub fn end_capture(&self) -> Captured {
        let mut graph = ptr::null_mut();
        // SAFETY: the stream is live (1); the place outlives the call.
        unsafe { call!(cuStreamEndCapture(self.raw(), &raw mut graph)) }?;
        // SAFETY: the capture ended well, so the driver made a graph and gave it to the caller.
        Ok(unsafe { Graph::from_raw(graph) })
    }

    /// Where it stands.
    ///
    /// # Errors
    ///
    /// What the driver answers.
    pub fn status(&self) -> Outcome<Status> {
        // Read as a number: the driver may know more states than the enum.
        let mut status = u32::MAX;
        // SAFETY: the stream is live (1); the enum is `repr(u32)`, so a u32 takes it.
        unsafe { call!(cuStreamIsCapturing(self.raw(), (&raw mut status).cast())) }?;
        let is = |known: RawStatus| known as u32 == status;
        Ok(match status {
            _ if is(RawStatus::CU_STREAM_CAPTURE_STATUS_NONE) => Status::None,
            _ if is(RawStatus::CU_STREAM_CAPTURE_STATUS_ACTIVE) => Status::Active,
            _ if is(RawStatus::CU_STREAM_CAPTURE_STATUS_INVALIDATED) => Status::Invalidated,
            _ => Status::Unknown,
        })
    }

    /// How many nodes the next one of a captured stream depends on.
    ///
    /// # Errors
    ///
    /// What the driver answers.
    pub fn dependencies(&self) -> Outcome<usize> {
        let mut status = u32::MAX;
        let (mut id, mut graph, mut count) = (0, ptr::null_mut(), 0);
        let (mut nodes, mut edges) = (ptr::null(), ptr::null());
        // SAFETY: the stream is live (1); the places outlive the call, and what the driver puts there is not
        // followed.
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

    /// Makes the next node of a captured stream depend on none.
    ///
    /// # Errors
    ///
    /// What the driver answers.
    pub fn depend_on_nothing(&self) -> Outcome<()> {
        let set = sys::CUstreamUpdateCaptureDependencies_flags::CU_STREAM_SET_CAPTURE_DEPENDENCIES;
        let (nodes, data) = (ptr::null_mut(), ptr::null());
        // SAFETY: the stream is live (1), and no nodes are given.
        unsafe {
            call!(cuStreamUpdateCaptureDependencies_v2(self.raw(), nodes, data, 0, set as u32))
        }
    }
}

/// Sets how strict captures are with the calling thread.
///
/// # Errors
///
/// What the driver answers.
pub fn exchange_thread_mode(mode: Mode) -> Outcome<()> {
    let mut mode = mode.raw();
    // SAFETY: the place outlives the call; the driver writes one of the three modes back.
    unsafe { call!(cuThreadExchangeStreamCaptureMode(&raw mut mode)) }
}
