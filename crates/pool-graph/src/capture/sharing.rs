//! The uses of pool blocks by graphs. Graphs of one stream never overlap. Those of two streams run in any order, so
//! they may only read common blocks.

use parking_lot::Mutex;
use pool_core::reserve::{NoHostMemory, lock_reserved};
use pool_driver::cudarc::driver::CudaStream;

use super::error::CaptureError;
use crate::base::block::BlockId;

/// The uses of blocks in the process, sorted by block. The lock is held only to search or change;
/// capacity is reserved before.
static SHARES: Mutex<Vec<BlockUse>> = Mutex::new(Vec::new());

/// A user of a block, and its access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct BlockUse {
    /// The pool of the block and the block's number.
    block: (u64, u64),
    /// The handle and the context of the stream.
    stream: (usize, usize),
    writes: bool,
}

/// Uses of blocks, until they are dropped.
#[derive(Debug, Default)]
pub(crate) struct Shares(Vec<BlockUse>);

impl Shares {
    /// Adds the use of a block by all work of a stream.
    pub(crate) fn add(
        &mut self,
        block: BlockId,
        stream: &CudaStream,
        writes: bool,
    ) -> Result<(), CaptureError> {
        let own = (stream.cu_stream().addr(), stream.context().cu_ctx().addr());
        let added = BlockUse { block: (block.pool(), block.number()), stream: own, writes };
        let requested = (self.0.len() + 1) * size_of::<BlockUse>();
        self.0.try_reserve(1).map_err(|_| NoHostMemory { requested })?;
        let mut shares = lock_reserved(|| SHARES.lock(), |shares| shares, 1)?;
        let place = shares.partition_point(|other| other.block < added.block);
        let of_block = shares[place..].iter().take_while(|other| other.block == added.block);
        let races = |other: &&BlockUse| other.stream != own && (other.writes || writes);
        if let Some(other) = of_block.copied().find(|other| races(&other)) {
            return Err(CaptureError::SharedBlock {
                block: block.number(),
                session: own.0 as u64,
                graph: other.stream.0 as u64,
            });
        }
        shares.insert(place, added);
        drop(shares);
        self.0.push(added);
        Ok(())
    }

    /// Returns `true` if a block is among these uses, as a write.
    pub(crate) fn writes(&self, block: BlockId) -> bool {
        let block = (block.pool(), block.number());
        self.0.iter().any(|own| own.writes && own.block == block)
    }

    /// Takes over other uses; they last forever if the host has no memory for the entries.
    pub(crate) fn keep(&mut self, mut others: Self) {
        match self.0.try_reserve(others.0.len()) {
            Ok(()) => self.0.append(&mut others.0),
            Err(_) => std::mem::forget(others),
        }
    }
}

impl Drop for Shares {
    fn drop(&mut self) {
        let mut shares = SHARES.lock();
        for added in &self.0 {
            let from = shares.partition_point(|other| other.block < added.block);
            let place = shares[from..].iter().position(|other| other == added);
            place.map(|place| shares.remove(from + place));
        }
    }
}
