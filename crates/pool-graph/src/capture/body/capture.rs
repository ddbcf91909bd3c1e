//! The interface that a body uses to allocate memory, enqueue work on the session's streams, and
//! order uses of the same memory.

use std::cell::RefCell;
use std::fmt;
use std::sync::Arc;

use pool_driver::cudarc::driver::CudaStream;

use super::account::Account;
use super::body_record::BodyRecord;
use super::memory_use::Use;
use super::names::CaptureStream;
use super::pools::Pools;
use super::shared_account::SharedAccount;
use super::span::NodeOwner;
use super::trace::BodyStep;
use crate::capture::error::CaptureError;
use crate::capture::memory::Kept;

/// The interface that a body uses to access its capture or dry run. A body allocates temporaries
/// from the arena and enqueues operations on the session's streams.
///
/// If several streams use the same memory, the capture orders those uses. A stream waits for the
/// last write to finish before it reads the memory. Before a stream writes to the memory, it also
/// waits for all earlier reads of the memory to finish. Streams that use different memory remain
/// independent, unless [`wait`](Self::wait) orders them.
pub struct Capture<'c> {
    pub(super) kept: Kept<'c>,
    pub(super) account: SharedAccount,
    /// The pools of the body's scopes.
    pub(super) pools: RefCell<Pools>,
}

/// An operation that a body enqueues.
pub(crate) struct Operation<'o> {
    pub(crate) kind: &'static str,
    pub(crate) stream: CaptureStream,
    pub(crate) uses: &'o [Use<'o>],
    /// The owner of the nodes that the operation adds to the graph.
    pub(crate) owner: NodeOwner,
}

impl<'c> Capture<'c> {
    /// Creates a body's interface from its account and the session's memory.
    pub(crate) fn new(account: Account, kept: Kept<'c>) -> Self {
        let pools = RefCell::new(Pools::new(account.streams().len()));
        Self { kept, account: SharedAccount::new(account), pools }
    }

    /// Ends the body and returns its record.
    pub(crate) fn into_record(self) -> BodyRecord {
        self.finish()
    }

    /// Drops the pools and then closes the account. After this call, a value leaked by the body
    /// cannot keep the record or the arena alive.
    fn finish(&self) -> BodyRecord {
        let pools = self.pools.replace(Pools::new(0));
        drop(pools);
        let (memory, record) = self.account.open().close();
        drop(memory);
        record
    }

    /// Returns `true` if this is a dry run of the body. A dry run enqueues no work on the session's
    /// streams, and its addresses do not refer to real memory.
    #[must_use]
    pub fn is_dry(&self) -> bool {
        self.account.open().is_dry()
    }

    /// Returns the session's first stream, on which the capture begins.
    #[must_use]
    pub fn main(&self) -> CaptureStream {
        CaptureStream(0)
    }

    /// Returns one of the session's branches. Branches are numbered from 0 in the order they were
    /// added to the session.
    ///
    /// # Errors
    ///
    /// Returns [`CaptureError::NoSuchBranch`] if the session does not contain the requested branch.
    pub fn branch(&self, branch: usize) -> Result<CaptureStream, CaptureError> {
        let branches = self.branches();
        if branch < branches {
            return Ok(CaptureStream(branch + 1));
        }
        Err(CaptureError::NoSuchBranch { asked: branch, branches })
    }

    /// Makes `later` wait for all current work on `earlier`.
    ///
    /// # Errors
    ///
    /// Returns an error if the driver call fails. The call also fails if the arena's policy does
    /// not support captures on several streams.
    pub fn wait(&self, later: CaptureStream, earlier: CaptureStream) -> Result<(), CaptureError> {
        let (later, earlier) = (self.check(later)?, self.check(earlier)?);
        let mut account = self.account.open();
        account.step(&BodyStep::Wait { later, earlier })?;
        account.begin(later)?;
        account.order(later, earlier)
    }

    /// Records an operation, orders its stream after earlier uses of the same memory, and enqueues
    /// the operation.
    pub(crate) fn operation(
        &self,
        operation: &Operation<'_>,
        work: impl FnOnce(&Arc<CudaStream>) -> Result<(), CaptureError>,
    ) -> Result<(), CaptureError> {
        let &Operation { kind, stream, uses, ref owner } = operation;
        let stream = self.check(stream)?;
        let mut account = self.account.open();
        account.prepare_operation(kind, stream, uses)?;
        let before = account.expect(stream)?;
        if account.is_dry() {
            account.used(stream, uses, &[]);
            return Ok(());
        }
        let begun = account.begin_move(stream);
        let streams = Arc::clone(account.streams());
        // The `work` closure may run the caller's code, so the account must not be locked here.
        drop(account);
        let worked = work(&streams[stream]);
        let mut account = self.account.open();
        // Even work that fails might have added nodes that use the memory, so these nodes are
        // recorded as well.
        let ended = account.end_move(stream, begun, &before, owner).map(|mut nodes| {
            nodes.retain(|node| !before.contains(node));
            account.used(stream, uses, &nodes);
        });
        worked.and(ended)
    }

    /// Drops the scopes' pools and then joins every branch. The capture can still record the work
    /// that the pools enqueue while they are being dropped.
    pub(crate) fn join_all(&self) -> Result<(), CaptureError> {
        let scopes = std::mem::take(&mut self.pools.borrow_mut().scopes);
        let noted = self.account.open().check_noted();
        let end = self.account.open().begin_pools_end();
        drop(scopes);
        // If several errors have occurred, the first one is returned.
        noted?;
        let end = end?;
        let mut account = self.account.open();
        account.check_noted()?;
        account.finish_pools_end(end)?;
        account.join_all()
    }

    fn branches(&self) -> usize {
        self.account.open().streams().len() - 1
    }

    pub(crate) fn check(&self, stream: CaptureStream) -> Result<usize, CaptureError> {
        let branches = self.branches();
        match stream.0 {
            known if known <= branches => Ok(known),
            other => Err(CaptureError::NoSuchBranch { asked: other - 1, branches }),
        }
    }
}

/// Drops the pools and closes the account, even if the body failed or panicked.
impl Drop for Capture<'_> {
    fn drop(&mut self) {
        drop(self.finish());
    }
}

impl fmt::Debug for Capture<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (dry, streams, steps) = {
            let account = self.account.open();
            (account.is_dry(), account.streams().len(), account.steps())
        };
        f.debug_struct("Capture")
            .field("dry", &dry)
            .field("streams", &streams)
            .field("steps", &steps)
            .finish_non_exhaustive()
    }
}
