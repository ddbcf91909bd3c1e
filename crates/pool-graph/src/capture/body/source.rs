//! Where the pools of a body take their blocks from: the arena of the capture, or memory that a view
//! lends. The one place here that answers for `pool-cuda`'s unsafe trait.
//!
//! What the proofs rely on:
//!
//! 1. **The arena is the graph's**, and so are the blocks that leases hold: their memory stays as long as
//!    anything of the capture may run. In a capture that fails nothing is ever run.
//! 2. **A region of a scope's pool is kept**: the arena is not told that it is over, and the account has it
//!    in use until the end, so nothing that is acquired later shares bytes with it. What was there before
//!    is done when the stream comes to the region, which the verifier checks in the graph.
//! 3. **A dry run puts nothing where it is run**: its pools have a stream that is captured to be thrown
//!    away.

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

/// What the pools of one stream of a body have in common.
struct BodyStream {
    account: SharedAccount,
    stream: usize,
}

/// A source of blocks of the arena, for the pool of one stream.
pub(crate) struct FromArena {
    place: BodyStream,
    blocks: RefCell<Blocks>,
}

/// The blocks that one pool has taken.
#[derive(Default)]
struct Blocks {
    /// How many bytes the block at each address has.
    bytes: BTreeMap<u64, u64>,
    /// What the pool has freed, by bytes and address. It goes to no other stream, so whoever gets it next
    /// comes after those that had it.
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
    /// The pool that gets this hands out one view, as long as the region at the address or shorter, and
    /// nothing else uses the region's memory while that pool lives.
    pub(crate) unsafe fn new(account: &SharedAccount, stream: usize, address: u64) -> Self {
        Self { place: BodyStream { account: account.clone(), stream }, address }
    }
}

impl BodyStream {
    /// What a pool is told, and what is kept for the end of the scope: a pool tries again after a
    /// refusal, and knows nothing of plans.
    fn refusal(&self, requested: usize, error: CaptureError) -> CudaError {
        if let CaptureError::Memory(GraphMemoryError::ArenaExhausted { shortage, .. }) = error {
            return CudaError::NoBlock { requested, why: shortage.advice() };
        }
        if let CaptureError::Driver(error) = error {
            return error;
        }
        self.account.open().note_refused(error);
        CudaError::NoBlock { requested, why: "the capture cannot go on: its error says why" }
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
    /// As for [`BlockSource::write`].
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
        // SAFETY: the range is the caller's to write, in memory that the graph owns, as it will own the
        // buffer.
        unsafe { calls::copy_from_host(to, buffer.first(), bytes.len(), stream) }?;
        self.account.open().keep_host(buffer);
        Ok(())
    }
}

// SAFETY: the arena's regions are multiples of 256 and this pool's to the end of the capture (2), which has what it
// freed again after all that used it, on its one stream; they are memory as long as the graph (1), of the context of
// the session's streams, which was checked when the arena was given; in a dry run, whose stream is thrown away, there
// is no memory (3). The owner is the capture. Locks are held for a look alone, and nothing uses the pool.
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

    /// Nothing goes back to the arena: nobody noted which kernels used the block.
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

// SAFETY: as above (1, 3). The one block is the region that was promised when this was made; that its
// pool asks for a word more than the view has is of no account, for nothing but the view uses it.
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
