//! Sources of the blocks of a body's pools: the arena of the capture, or memory that a view lends.
//! This is the only module here that implements `pool-cuda`'s unsafe trait.
//!
//! The proofs rely on three facts:
//!
//! 1. **The arena is the graph's**, and so are the blocks that leases hold: their memory lives as
//!    long as work of the capture may run. Work of a failed capture never runs.
//! 2. **A region of a scope's pool is kept**: its end is not passed to the arena, and the account
//!    has it in use until the end, so no later acquire shares its bytes. Earlier uses are done when
//!    the stream reaches the region, which the verifier checks in the graph.
//! 3. **Work of a dry run is never run**: its pools have a stream whose capture is discarded.

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

/// The common state of the pools of one body's stream.
struct BodyStream {
    account: SharedAccount,
    stream: usize,
}

/// A source of blocks of the arena, for the pool of one stream.
pub(crate) struct FromArena {
    place: BodyStream,
    blocks: RefCell<Blocks>,
}

/// The blocks that one pool has allocated.
#[derive(Default)]
struct Blocks {
    /// The bytes of the block at each address.
    bytes: BTreeMap<u64, u64>,
    /// The blocks that the pool has freed, by bytes and address. They go to no other stream, so the
    /// next user comes after the previous ones.
    idle: BTreeSet<(u64, u64)>,
}

/// A source of one block: the bytes of a region that a view lends.
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
    /// The pool with this source must return one view, at most as long as the region at the
    /// address. No other work may use the region's memory while that pool lives.
    pub(crate) unsafe fn new(account: &SharedAccount, stream: usize, address: u64) -> Self {
        Self { place: BodyStream { account: account.clone(), stream }, address }
    }
}

impl BodyStream {
    /// Returns the pool's error for a refusal, and stores the cause for the end of the scope: a
    /// pool retries after a refusal, and does not know plans.
    fn refusal(&self, requested: usize, error: CaptureError) -> CudaError {
        if let CaptureError::Memory(GraphMemoryError::ArenaExhausted { shortage, .. }) = error {
            return CudaError::NoBlock { requested, why: shortage.advice() };
        }
        if let CaptureError::Driver(error) = error {
            return error;
        }
        self.account.open().note_refused(error);
        CudaError::NoBlock { requested, why: "the capture cannot go on: its error has the reason" }
    }

    fn admit(&self, stream: &CudaStream) -> Result<(), CudaError> {
        let mut account = self.account.open();
        let Some(other) = account.streams().iter().position(|known| **known == *stream) else {
            return Err(CudaError::Capturing { operation: "use memory on a stream of no session" });
        };
        account.admit(self.stream, other).map_err(|error| {
            account.note_refused(error);
            CudaError::Capturing { operation: "fork where its arena rewinds by the order of calls" }
        })
    }

    /// # Safety
    ///
    /// Same as for [`BlockSource::write`].
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
        // SAFETY: the caller may write the range, in memory that the graph owns; it will own the
        // buffer, too.
        unsafe { calls::copy_from_host(to, buffer.first(), bytes.len(), stream) }?;
        self.account.open().keep_host(buffer);
        Ok(())
    }
}

// SAFETY: the arena's regions are multiples of 256 and this pool's to the end of the capture (2).
// The pool reuses a freed one only after all its uses, on its one stream. The memory lives as long
// as the graph (1), in the context of the session's streams, which was checked when the arena was
// passed. In a dry run, whose capture is discarded, there is no memory (3). The owner is the
// capture. Locks are held only to read, and no method uses the pool.
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

    /// No block is returned to the arena, because its uses by kernels were not recorded.
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
        // SAFETY: the caller's promise.
        unsafe { self.place.write(to, bytes) }
    }
}

// SAFETY: as above (1, 3). The one block is the region that the creator of this source promised.
// Its pool requests a word more than the view has, which is harmless because only the view uses it.
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
        // SAFETY: the caller's promise.
        unsafe { self.place.write(to, bytes) }
    }
}
