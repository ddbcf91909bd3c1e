//! Workspaces for libraries. A library stores its workspace's address and uses it in each call, so
//! the workspace must belong to the graph.

use std::fmt;
use std::marker::PhantomData;

use super::call_site::CallSite;
use super::capture::Capture;
use super::memory_use::Use;
use super::names::CaptureStream;
use super::view::rounded;
use crate::capture::error::CaptureError;

/// A library workspace in the graph's memory, for use in a capture's body.
///
/// A library allocates a workspace during its calls unless the user has set one. During a capture,
/// allocating the workspace would create a memory node, and a session rejects graphs that contain
/// memory nodes ([`CaptureError::MemoryNodes`]). A body must therefore set the workspace before its
/// first call to the library. For cuBLAS, the body must call `cublasSetStream`, which removes the
/// handle's workspace, before it calls `cublasSetWorkspace` with [`address`](Self::address) and
/// [`bytes`](Self::bytes). The library's handle stores the address. The workspace therefore stays
/// in use for as long as the graph exists, even if the `Workspace` is dropped earlier.
///
/// After the capture, set the handle's stream again before using it for eager work. Setting a new
/// stream detaches the handle from the graph's workspace.
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
    /// Allocates a workspace for a library handle that uses this stream. The workspace is part of
    /// the graph's footprint for as long as the graph exists.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`acquire`](Self::acquire).
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
    /// Returns the workspace's device address, which is a multiple of 256. In a dry run, no memory
    /// exists at this address.
    #[must_use]
    pub fn address(&self) -> u64 {
        self.capture.account.open().address(self.region)
    }

    /// Returns the workspace's size in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Declares that a library call uses the workspace. Library calls that use the workspace on
    /// different streams run one after the other.
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
