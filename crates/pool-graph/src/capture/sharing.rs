//! A list of the pool blocks that graphs use. Graphs on the same stream run one after another.
//! Graphs on different streams may run in any order, so they must not write to blocks that they
//! share.

use parking_lot::Mutex;
use pool_core::reserve::{NoHostMemory, lock_reserved};
use pool_driver::cudarc::driver::CudaStream;

use super::error::CaptureError;
use crate::base::block::BlockId;

/// All block uses in this process, sorted by block. The lock is held only while the list is
/// searched or changed. Capacity is reserved before the lock is acquired.
static SHARES: Mutex<Vec<BlockUse>> = Mutex::new(Vec::new());

/// A use of a block. The entry stores the block, the stream that uses it, and whether the use is a
/// write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct BlockUse {
    /// The pool's number and the block's number within the pool.
    block: (u64, u64),
    /// The handle and context of the stream that uses the block.
    stream: (usize, usize),
    writes: bool,
}

/// A set of block uses. Dropping the set ends all of these uses.
#[derive(Debug, Default)]
pub(crate) struct Shares(Vec<BlockUse>);

impl Shares {
    /// Records that a stream's work uses a block. Returns an error if a graph on another stream
    /// also uses the block and either graph writes to it.
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

    /// Returns `true` if a use in this set writes to the block.
    pub(crate) fn writes(&self, block: BlockId) -> bool {
        let block = (block.pool(), block.number());
        self.0.iter().any(|own| own.writes && own.block == block)
    }

    /// Adds all uses of another set to this set. If the host cannot allocate the entries, the uses
    /// in the other set remain registered forever.
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
