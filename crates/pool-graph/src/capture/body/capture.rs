//! The interface of a body. It allocates memory, puts work on the session's streams, and orders
//! uses of the same memory.

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

/// The interface of a body to a capture or a dry run. Temporaries are allocated from the arena, and
/// operations are put on the streams of the session.
///
/// If several streams use the same memory, the capture orders these uses. A stream waits for the
/// last writer before it reads, and also for all readers before it writes. Streams that share no
/// memory stay independent unless [`wait`](Self::wait) orders them.
pub struct Capture<'c> {
    pub(super) kept: Kept<'c>,
    pub(super) account: SharedAccount,
    /// The pools of scopes.
    pub(super) pools: RefCell<Pools>,
}

/// An operation of a body.
pub(crate) struct Operation<'o> {
    pub(crate) kind: &'static str,
    pub(crate) stream: CaptureStream,
    pub(crate) uses: &'o [Use<'o>],
    /// The owner of the nodes that the operation adds.
    pub(crate) owner: NodeOwner,
}

impl<'c> Capture<'c> {
    /// Creates the interface to an account, with the memory that the session keeps.
    pub(crate) fn new(account: Account, kept: Kept<'c>) -> Self {
        let pools = RefCell::new(Pools::new(account.streams().len()));
        Self { kept, account: SharedAccount::new(account), pools }
    }

    /// Ends the body, and returns its record.
    pub(crate) fn into_record(self) -> BodyRecord {
        self.finish()
    }

    /// Ends the pools, then the account. A value that the body has leaked then no longer holds the
    /// record or the arena.
    fn finish(&self) -> BodyRecord {
        let pools = self.pools.replace(Pools::new(0));
        drop(pools);
        let (medium, record) = self.account.open().close();
        drop(medium);
        record
    }

    /// Returns `true` in a dry run. A dry run puts no work on streams, and its addresses have no
    /// memory behind them.
    #[must_use]
    pub fn is_dry(&self) -> bool {
        self.account.open().is_dry()
    }

    /// Returns the first stream of the session, which is captured.
    #[must_use]
    pub fn main(&self) -> CaptureStream {
        CaptureStream(0)
    }

    /// Returns a branch of the session. Branches are counted from 0 in the order in which they were
    /// added.
    ///
    /// # Errors
    ///
    /// Fails with [`CaptureError::NoSuchBranch`] if there are fewer branches.
    pub fn branch(&self, branch: usize) -> Result<CaptureStream, CaptureError> {
        let branches = self.branches();
        if branch < branches {
            return Ok(CaptureStream(branch + 1));
        }
        Err(CaptureError::NoSuchBranch { asked: branch, branches })
    }

    /// Orders the stream `later` after all current work of the stream `earlier`.
    ///
    /// # Errors
    ///
    /// Fails with the driver's error code, or if the arena's policy allows only one stream.
    pub fn wait(&self, later: CaptureStream, earlier: CaptureStream) -> Result<(), CaptureError> {
        let (later, earlier) = (self.check(later)?, self.check(earlier)?);
        let mut account = self.account.open();
        account.step(&BodyStep::Wait { later, earlier })?;
        account.begin(later)?;
        account.order(later, earlier)
    }

    /// Records an operation, orders its stream after the earlier users of the same memory, and puts
    /// the operation on that stream.
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
        // The work may run code of the caller, so the account's lock is not held.
        drop(account);
        let worked = work(&streams[stream]);
        let mut account = self.account.open();
        // Work that failed halfway may already have added nodes that use the memory.
        let ended = account.end_move(stream, begun, &before, owner).map(|mut nodes| {
            nodes.retain(|node| !before.contains(node));
            account.used(stream, uses, &nodes);
        });
        worked.and(ended)
    }

    /// Ends the pools of scopes while their remaining work on streams is still captured, and then
    /// joins every branch.
    pub(crate) fn join_all(&self) -> Result<(), CaptureError> {
        let scopes = std::mem::take(&mut self.pools.borrow_mut().scopes);
        let noted = self.account.open().check_noted();
        let end = self.account.open().begin_pools_end();
        drop(scopes);
        // Errors are returned in the order in which they occurred.
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

/// Ends the pools and the account, also if the body failed or unwound.
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
