//! The sources from which a body's pools receive their blocks: the arena of the capture, or memory
//! that a view lends. This is the only module here that implements the unsafe trait `BlockSource`
//! of `pool-cuda`.
//!
//! The proofs rely on three facts:
//!
//! 1. **The graph owns the arena** and holds the leased blocks, so their memory lives as long as
//!    work of the capture may run. Work of a failed capture never runs.
//! 2. **A region of a scope's pool is kept.** It is not returned to the arena, and the account
//!    records it as in use until the end of the capture, so no later temporary shares its bytes.
//!    All earlier uses of its bytes have ended when the stream reaches the region. The verifier
//!    checks this in the graph.
//! 3. **Work of a dry run never runs**, because its pools work on a stream whose capture is
//!    discarded.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use pool_cuda::BlockSource;
use pool_driver::calls;
use pool_driver::cudarc::driver::CudaStream;
use pool_driver::error::CudaError;
use pool_driver::host_buffer::HostBuffer;

use super::shared_account::SharedAccount;
use crate::base::error::GraphMemoryError;
use crate::capture::error::CaptureError;

/// The state that the pools on one stream of a body have in common.
struct BodyStream {
    account: SharedAccount,
    stream: usize,
}

/// A source that allocates blocks from the arena, for the pool of one stream.
pub(crate) struct FromArena {
    place: BodyStream,
    blocks: RefCell<Blocks>,
}

/// The blocks that one pool has allocated.
#[derive(Default)]
struct Blocks {
    /// The size in bytes of the block at each address.
    bytes: BTreeMap<u64, u64>,
    /// The blocks that the pool has freed, by size and address. They are never used on another
    /// stream, so the next user follows the previous ones.
    idle: BTreeSet<(u64, u64)>,
}

/// A source of a single block, which consists of the bytes of a region that a view lends.
pub(crate) struct FromView {
    place: BodyStream,
    address: u64,
}

impl FromArena {
    pub(crate) fn new(account: &SharedAccount, stream: usize) -> Self {
        let place = BodyStream { account: account.clone(), stream };
        Self { place, blocks: RefCell::default() }
    }

    fn take(&self, elements: usize) -> Result<u64, CaptureError> {
        let BodyStream { account, stream } = &self.place;
        let overflow = CaptureError::SizeOverflow { elements, size: 1 };
        let bytes = u64::try_from(elements).map_err(|_| overflow)?;
        let mut blocks = self.blocks.borrow_mut();
        let fits = blocks.idle.range((bytes, 0)..).next().copied();
        if let Some(block) = fits {
            blocks.idle.remove(&block);
            return Ok(block.1);
        }
        let address = account.open().acquire_block(*stream, bytes)?;
        blocks.bytes.insert(address, bytes);
        Ok(address)
    }
}

impl FromView {
    /// # Safety
    ///
    /// The pool that uses this source must return a single view that is at most as long as the
    /// region at the address. No other work may use the region's memory while that pool lives.
    pub(crate) unsafe fn new(account: &SharedAccount, stream: usize, address: u64) -> Self {
        Self { place: BodyStream { account: account.clone(), stream }, address }
    }
}

impl BodyStream {
    /// Returns an error for the pool, and stores the cause for the end of the scope. A pool tries
    /// again after a refusal, and knows nothing about plans.
    fn refusal(&self, requested: usize, error: CaptureError) -> CudaError {
        if let CaptureError::Memory(GraphMemoryError::ArenaExhausted { shortage, .. }) = error {
            return CudaError::NoBlock { requested, why: shortage.advice() };
        }
        if let CaptureError::Driver(error) = error {
            return error;
        }
        self.account.open().note_refused(error);
        CudaError::NoBlock {
            requested,
            why: "the capture failed earlier; see the error of the capture for the reason",
        }
    }

    fn admit(&self, stream: &CudaStream) -> Result<(), CudaError> {
        let mut account = self.account.open();
        let Some(other) = account.streams().iter().position(|known| **known == *stream) else {
            return Err(CudaError::Capturing {
                operation: "use memory on a stream outside the session",
            });
        };
        account.admit(self.stream, other).map_err(|error| {
            account.note_refused(error);
            CudaError::Capturing { operation: "fork while its arena rewinds in call order" }
        })
    }

    /// # Safety
    ///
    /// The same as for [`BlockSource::write`].
    unsafe fn write(&self, to: u64, bytes: &[u8]) -> Result<(), CudaError> {
        let streams = {
            let account = self.account.open();
            if account.is_dry() || bytes.is_empty() {
                return Ok(());
            }
            Arc::clone(account.streams())
        };
        let stream = &streams[self.stream];
        let buffer = HostBuffer::new(bytes, stream.context())?;
        // SAFETY: the caller may write the range, which is memory that the graph owns. The graph
        // will also own the buffer, so the buffer outlives the copy.
        unsafe { calls::copy_from_host(to, buffer.first(), bytes.len(), stream) }?;
        self.account.open().keep_host(buffer);
        Ok(())
    }
}

// SAFETY: regions of the arena start at multiples of 256, and belong to this pool until the end of
// the capture (2). The pool reuses a freed block only after all uses of that block, in the order of
// the pool's one stream. The memory lives as long as the graph (1). It is in the context of the
// session's streams, which was checked when the session took the arena. A dry run has no memory,
// but its capture is discarded (3). The owner is the capture. The account's lock is held only while
// the account is read or changed, and no method uses the pool.
unsafe impl BlockSource for FromArena {
    fn owner(&self) -> u64 {
        self.place.account.open().number()
    }

    fn is_dry(&self) -> bool {
        self.place.account.open().is_dry()
    }

    fn allocate(&self, bytes: usize) -> Result<u64, CudaError> {
        self.take(bytes).map_err(|error| self.place.refusal(bytes, error))
    }

    /// Frees a block for reuse by this pool only. Blocks are not returned to the arena, because
    /// their uses by kernels have not been recorded.
    unsafe fn free(&self, address: u64) {
        let mut blocks = self.blocks.borrow_mut();
        if let Some(&bytes) = blocks.bytes.get(&address) {
            blocks.idle.insert((bytes, address));
        }
    }

    fn admit(&self, stream: &CudaStream) -> Result<(), CudaError> {
        self.place.admit(stream)
    }

    unsafe fn write(&self, to: u64, bytes: &[u8]) -> Result<(), CudaError> {
        // SAFETY: the caller promises that the range may be written.
        unsafe { self.place.write(to, bytes) }
    }
}

// SAFETY: the memory lives as long as the graph (1), and work of a dry run never runs (3). The one
// block is the region that the creator of this source passed, and only the view of this pool uses
// the region. The pool requests one word more than the view needs. The block lacks that word, but
// no work uses more than the view.
unsafe impl BlockSource for FromView {
    fn owner(&self) -> u64 {
        self.place.account.open().number()
    }

    fn is_dry(&self) -> bool {
        self.place.account.open().is_dry()
    }

    fn allocate(&self, _: usize) -> Result<u64, CudaError> {
        Ok(self.address)
    }

    unsafe fn free(&self, _: u64) {}

    fn admit(&self, stream: &CudaStream) -> Result<(), CudaError> {
        self.place.admit(stream)
    }

    unsafe fn write(&self, to: u64, bytes: &[u8]) -> Result<(), CudaError> {
        // SAFETY: the caller promises that the range may be written.
        unsafe { self.place.write(to, bytes) }
    }
}
