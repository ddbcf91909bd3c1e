//! Updates of a captured graph. An update captures the body again and copies the new nodes'
//! parameters to the executable graph.

use std::mem;
use std::sync::Arc;

use pool_driver::host_buffer::HostBuffer;

use super::captured_graph::{CapturedGraph, state_of};
use super::runs::Runs;
use crate::capture::body::Capture;
use crate::capture::copy_buffers::CopyBuffers;
use crate::capture::error::CaptureError;
use crate::capture::retired_graph::{RetiredGraph, RetiredGraphEntry};
use crate::capture::setup::{Purpose, VerifiedGraph};
use crate::capture::sharing::Shares;
use crate::driver::Graph;

impl<S> CapturedGraph<S> {
    /// Runs a body again and copies the parameters of its nodes to the graph. These parameters
    /// include scalar kernel arguments, fill values, and the sources of copies from the host. Later
    /// runs use the new parameters, and earlier runs use the old ones.
    ///
    /// The body must perform the same steps as the captured body, and its temporaries must have the
    /// same addresses. The body can be the same closure as before, with a different state. The
    /// update captures the body on the same streams and in the same memory, and the verifier checks
    /// the result again. `cuGraphExecUpdate` copies the new parameters to the executable graph. An
    /// update is therefore faster than creating another executable graph. Host arguments keep their
    /// identifiers and receive the new values.
    ///
    /// The call first waits until all earlier runs have completed, because the body borrows the
    /// graph's state.
    ///
    /// **If the body fails or panics, the graph is unchanged**, except that the body might have
    /// modified the graph's state. Memory in the graph's state that its nodes use must stay valid
    /// until an update has replaced the nodes.
    ///
    /// ```no_run
    /// # use pool_graph::{Capture, CaptureError, GraphMemoryBlock, PreparedCapture};
    /// # fn f(prepared: PreparedCapture, block: GraphMemoryBlock) -> Result<(), CaptureError> {
    /// let body = |capture: &Capture<'_>, value: &mut u8| {
    ///     capture.fill_bytes(capture.main(), &mut capture.block::<u8>(&block)?, *value)
    /// };
    /// let mut graph = prepared.capture(1, body)?;
    /// graph.replay()?; // fills with 1
    /// *graph.state()? = 2;
    /// graph.update(body)?;
    /// graph.replay()?; // fills with 2
    /// # Ok::<(), CaptureError>(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the error from `body`, or [`CaptureError::Diverged`] if the body performs different
    /// steps than before. Returns [`CaptureError::Moved`] if a temporary is at a different offset,
    /// or [`CaptureError::Update`] if CUDA cannot replace the old nodes with the new ones. Returns
    /// [`CaptureError::Capturing`] if the stream is being captured. An update also returns the same
    /// errors as a [capture](crate::PreparedCapture::capture).
    pub fn update<E: From<CaptureError>>(
        &mut self,
        body: impl FnOnce(&Capture<'_>, &mut S) -> Result<(), E>,
    ) -> Result<(), E> {
        self.setup.resources().memory().check()?;
        // The stream is checked but not reserved here, because the capture itself reserves it.
        drop(self.check_stream("be updated")?);
        let purpose = Purpose::Update(&self.pattern);
        let state = state_of(&mut self.state)?;
        let outcome = self.setup.run(purpose, state, body)?;
        let verified_graph = self.setup.examine(outcome, purpose)?;
        let (footprint, verified) = (verified_graph.footprint, verified_graph.verified);
        self.runs.update(verified_graph)?;
        (self.footprint, self.verified) = (footprint, verified);
        Ok(())
    }
}

impl Runs {
    fn update(&mut self, verified_graph: VerifiedGraph) -> Result<(), CaptureError> {
        let VerifiedGraph { graph, host, arguments, contents, shares, .. } = verified_graph;
        let entry = RetiredGraphEntry::new()?;
        let parts = self.parts()?;
        match parts.executable.update(&graph, |node| contents.kind_of(node)) {
            Ok(Ok(())) => {
                let old = mem::replace(&mut parts.graph, graph);
                let unused = mem::replace(&mut parts.host, host);
                parts.arguments = arguments;
                let given_up = mem::replace(&mut parts.shares, shares);
                self.end(entry, old, unused, given_up);
                Ok(())
            }
            Ok(Err(refused)) => Err(CaptureError::Update(refused)),
            Err(error) => {
                // The executable graph might contain either the old or the new nodes, so the graph
                // retains the host memory of both.
                parts.doubtful.extend(host.into_iter().flatten());
                parts.shares.keep(shares);
                Err(error.into())
            }
        }
    }

    /// Destroys the old nodes and their host memory. All earlier runs have completed, and no later
    /// run reads this memory.
    fn end(
        &self,
        entry: RetiredGraphEntry,
        graph: Graph,
        host: Vec<Option<HostBuffer>>,
        shares: Shares,
    ) {
        let (staged, doubtful) = (CopyBuffers::default(), Vec::new());
        let (resources, streams) =
            (Some(Arc::clone(&self.resources)), self.resources.all_streams());
        let executable = None;
        let remains =
            RetiredGraph { executable, graph, host, doubtful, staged, shares, resources, streams };
        remains.end(entry);
    }
}
