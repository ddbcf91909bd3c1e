//! Which graphs have which blocks of pools. Graphs of one stream run one after the other; those of two
//! streams run whenever they like, so they may only read what they have together.

use std::collections::BTreeMap;

use parking_lot::Mutex;
use pool_cuda::cudarc::driver::CudaStream;

use crate::block::BlockId;
use crate::capture::CaptureError;

/// Held for a look or a change.
static SHARES: Mutex<BTreeMap<(u64, u64), Vec<Use>>> = Mutex::new(BTreeMap::new());

/// Who uses a block, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Use {
    /// Handle and context of the stream.
    stream: (usize, usize),
    writes: bool,
}

/// Uses of blocks, until they are dropped.
#[derive(Debug, Default)]
pub(crate) struct Shares(Vec<((u64, u64), Use)>);

impl Shares {
    /// Adds the use of a block by all that runs on a stream.
    pub(crate) fn add(
        &mut self,
        block: BlockId,
        stream: &CudaStream,
        writes: bool,
    ) -> Result<(), CaptureError> {
        let own = (stream.cu_stream().addr(), stream.context().cu_ctx().addr());
        let key = (block.pool(), block.number());
        let mut shares = SHARES.lock();
        let uses = shares.entry(key).or_default();
        let races = |other: &&Use| other.stream != own && (other.writes || writes);
        if let Some(other) = uses.iter().find(races) {
            return Err(CaptureError::SharedBlock {
                block: block.number(),
                session: own.0 as u64,
                graph: other.stream.0 as u64,
            });
        }
        let added = Use { stream: own, writes };
        uses.push(added);
        self.0.push((key, added));
        Ok(())
    }

    /// Has those, too.
    pub(crate) fn keep(&mut self, mut others: Self) {
        self.0.append(&mut others.0);
    }
}

impl Drop for Shares {
    fn drop(&mut self) {
        let mut shares = SHARES.lock();
        for (key, added) in &self.0 {
            let Some(uses) = shares.get_mut(key) else { continue };
            let place = uses.iter().position(|other| other == added);
            place.map(|place| uses.swap_remove(place));
            if uses.is_empty() {
                shares.remove(key);
            }
        }
    }
}
