//! Workspaces: memory of the graph whose address a library keeps, and uses in each of its calls.

use std::fmt;
use std::marker::PhantomData;

use super::call_site::CallSite;
use super::capture::Capture;
use super::memory_use::Use;
use super::names::CaptureStream;
use super::view::rounded;
use crate::capture::error::CaptureError;

/// Memory of the graph for a library's handle, in the body of a capture.
///
/// A library without a user's workspace allocates one in its calls. In a capture that becomes a
/// memory node, which is refused ([`CaptureError::MemoryNodes`]). So set this one before the first
/// call. For cuBLAS: first call `cublasSetStream`, which removes the handle's workspace, then
/// `cublasSetWorkspace` with [`address`](Self::address) and [`bytes`](Self::bytes). The handle
/// keeps the address, so its bytes are not reused to the end of the graph, even after this value is
/// dropped.
///
/// After the capture, set the handle's stream again (which removes the workspace) before an eager
/// use: the memory belongs to the graph.
///
/// ```no_run
/// use std::sync::Arc;
///
/// use pool_cuda::cudarc::driver::CudaStream;
/// use pool_graph::{Capture, CaptureError};
///
/// # struct Library;
/// # impl Library {
/// #     fn set_stream(&self, _: &Arc<CudaStream>) {}
/// #     fn set_workspace(&self, _: u64, _: usize) {}
/// #     fn multiply(&self, _: [u64; 2]) -> Result<(), CaptureError> { Ok(()) }
/// # }
/// fn body(capture: &Capture<'_>, library: &Library) -> Result<(), CaptureError> {
///     let main = capture.main();
///     let mut workspace = capture.workspace(main, 4 << 20)?;
///     let (from, mut to) = (capture.acquire::<f32>(4096)?, capture.acquire::<f32>(4096)?);
///     let (address, bytes) = (workspace.address(), workspace.bytes());
///     let places = [from.address(), to.address()];
///     let uses = [workspace.write(), from.read(), to.write()];
///     let work = |stream: &Arc<CudaStream>| {
///         library.set_stream(stream);
///         library.set_workspace(address, bytes);
///         library.multiply(places)
///     };
///     // SAFETY: the library reads and writes these three, on this stream.
///     unsafe { capture.enqueue(main, &uses, work) }
/// }
/// ```
#[must_use]
pub struct Workspace<'c> {
    capture: &'c Capture<'c>,
    region: usize,
    bytes: usize,
}

impl<'c> Capture<'c> {
    /// Allocates memory for a library's handle on this stream. It is a part of the footprint to the
    /// end of the graph.
    ///
    /// # Errors
    ///
    /// Same as [`acquire`](Self::acquire).
    #[track_caller]
    pub fn workspace(
        &'c self,
        stream: CaptureStream,
        bytes: usize,
    ) -> Result<Workspace<'c>, CaptureError> {
        let stream = self.check(stream)?;
        let whole = rounded::<u8>(bytes)?;
        let mut account = self.account.open();
        account.begin(stream)?;
        let region = account.acquire_kept(stream, whole, CallSite::of("workspace"))?;
        drop(account);
        Ok(Workspace { capture: self, region, bytes })
    }
}

impl Workspace<'_> {
    /// Returns its address on the device, a multiple of 256. In a dry run there is no memory at it.
    #[must_use]
    pub fn address(&self) -> u64 {
        self.capture.account.open().address(self.region)
    }

    /// Returns its bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Declares that a call of the library uses it: calls on several streams never overlap.
    #[must_use]
    pub fn write(&mut self) -> Use<'_> {
        let capture = self.capture.account.open().number();
        Use { capture, region: self.region, writes: true, view: PhantomData }
    }
}

impl fmt::Debug for Workspace<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Workspace")
            .field("address", &format_args!("{:#x}", self.address()))
            .field("bytes", &self.bytes)
            .finish_non_exhaustive()
    }
}
