//! The block sources for a body's pools. A pool obtains its blocks either from the capture's arena
//! or from a lent view. In this crate, only this module implements `pool-cuda`'s unsafe
//! `BlockSource` trait.
//!
//! The safety proofs in this module rely on four facts:
//!
//! - **The graph owns the arena** and keeps the leased blocks alive. The memory of the arena and of
//!   the blocks therefore remains valid for as long as the captured work might run. A failed
//!   capture's work never runs.
//! - **Each region that a scope's pool allocates stays allocated** until the capture ends. The
//!   account records that the region is in use, and never returns the region to the arena.
//!   Therefore, no later temporary can use the region's bytes. All earlier uses of these bytes end
//!   before the stream uses the region, and the verifier checks this order in the graph.
//! - **Modules stay loaded**, because the graph's [`KeptValues`](crate::driver::KeptValues) own all
//!   functions launched through the pools. If a function cannot be stored in `KeptValues`, the
//!   capture fails.
//! - **Work recorded in a dry run is never executed**, because the pools of a dry run use a stream
//!   whose capture is discarded.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use pool_cuda::BlockSource;
use pool_driver::calls;
use pool_driver::cudarc::driver::{CudaFunction, CudaStream};
use pool_driver::error::CudaError;
use pool_driver::host_buffer::HostBuffer;

use super::shared_account::SharedAccount;
use crate::base::error::GraphMemoryError;
use crate::capture::error::CaptureError;

/// A body's account, and the number of the stream that one of its pools uses.
struct BodyStream {
    account: SharedAccount,
    stream: usize,
}

/// A block source that allocates from the arena for a pool on a single stream.
pub(crate) struct FromArena {
    place: BodyStream,
    blocks: RefCell<Blocks>,
}

/// The blocks that a pool has allocated from the arena.
#[derive(Default)]
struct Blocks {
    /// The block sizes in bytes, keyed by address.
    bytes: BTreeMap<u64, u64>,
    /// The blocks that the pool has freed, sorted by size and address. The pool's stream orders all
    /// uses of these blocks, so each new use comes after all earlier ones.
    idle: BTreeSet<(u64, u64)>,
}

/// A block source whose only block is a lent view's region.
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
    /// The pool that uses this source must return a single view that fits into the region at
    /// `address`. No other work may use the region's memory while the pool exists.
    pub(crate) unsafe fn new(account: &SharedAccount, stream: usize, address: u64) -> Self {
        Self { place: BodyStream { account: account.clone(), stream }, address }
    }
}

impl BodyStream {
    /// Converts an error into one that the pool can return, and stores the original until the scope
    /// ends. A pool can return only driver errors, so it cannot return the original error.
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

    /// Keeps a function alive so that its module stays loaded. If the function cannot be stored,
    /// the capture fails.
    fn keep_function(&self, function: &CudaFunction) {
        let values = self.account.open().values();
        if let Some(Err(error)) = values.map(|values| values.keep_function(function)) {
            self.account.open().note_error_of_drop(error.into());
        }
    }

    /// # Safety
    ///
    /// The caller must uphold the safety contract of [`BlockSource::write`].
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
        // SAFETY: the caller guarantees that the range may be written to. The graph owns the
        // range's memory. The graph will also own the host buffer, so the buffer outlives the copy.
        unsafe { calls::copy_from_host(to, buffer.first(), bytes.len(), stream) }?;
        self.account.open().keep_host(buffer);
        Ok(())
    }
}

// SAFETY: all blocks are regions of the arena that start at multiples of 256 and belong to this
// pool until the capture ends. The pool reuses a freed block only in stream order, after all
// earlier uses of that block. The arena's memory lives as long as the graph. When the session
// received the arena, it checked that the memory belongs to the context of the session's streams.
// Addresses in a dry run do not refer to real memory, but the work that uses them is captured and
// never executed. The capture's `KeptValues` own each launched function. `owner` returns the
// capture's number. The account's lock is held only while the account is read or changed. None of
// these methods use the pool.
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

    /// Makes a block available to this pool for reuse. The pool does not return blocks to the
    /// arena, because the capture does not record which kernels use them.
    unsafe fn free(&self, address: u64) {
        let mut blocks = self.blocks.borrow_mut();
        if let Some(&bytes) = blocks.bytes.get(&address) {
            blocks.idle.insert((bytes, address));
        }
    }

    fn admit(&self, stream: &CudaStream) -> Result<(), CudaError> {
        self.place.admit(stream)
    }

    fn keep_function(&self, function: &CudaFunction) {
        self.place.keep_function(function);
    }

    unsafe fn write(&self, to: u64, bytes: &[u8]) -> Result<(), CudaError> {
        // SAFETY: the caller guarantees that this range may be written to.
        unsafe { self.place.write(to, bytes) }
    }
}

// SAFETY: the memory lives as long as the graph, and the capture's `KeptValues` own each launched
// function. Work from a dry run is never executed. The only block is the region with which this
// source was created. Only the view that the pool returns uses this block. The pool requests one
// word more than the view needs. The block may be one word shorter than the pool requested, but no
// work accesses memory beyond the end of the view.
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

    fn keep_function(&self, function: &CudaFunction) {
        self.place.keep_function(function);
    }

    unsafe fn write(&self, to: u64, bytes: &[u8]) -> Result<(), CudaError> {
        // SAFETY: the caller guarantees that this range may be written to.
        unsafe { self.place.write(to, bytes) }
    }
}
