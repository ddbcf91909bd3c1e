//! An arena that bumps an offset. Freed memory is reclaimed only at the top, where the offset moves
//! back to the end of the highest live buffer. The held memory is the maximum that the offset has
//! reached.

use std::collections::{BTreeMap, HashMap};

use super::simulator::{ALIGNMENT, Full, PoolId, Simulator, round_up};

#[derive(Debug)]
pub(super) struct Bump {
    capacity: u64,
    /// The end of each live buffer. The key is the offset of the buffer.
    live: BTreeMap<u64, u64>,
    offsets: HashMap<u64, u64>,
    held: u64,
}

impl Bump {
    pub(super) fn new(capacity: u64) -> Self {
        Self { capacity, live: BTreeMap::new(), offsets: HashMap::new(), held: 0 }
    }
}

impl Simulator for Bump {
    fn allocate(&mut self, _: PoolId, buffer: u64, _stream: u64, bytes: u64) -> Result<u64, Full> {
        let offset = self.live.last_key_value().map_or(0, |(_, &end)| end);
        let end = offset.checked_add(round_up(bytes, ALIGNMENT)?).ok_or(Full)?;
        if end > self.capacity {
            return Err(Full);
        }
        self.live.insert(offset, end);
        self.offsets.insert(buffer, offset);
        self.held = self.held.max(end);
        Ok(offset)
    }

    fn free(&mut self, buffer: u64, _stream: u64) {
        if let Some(offset) = self.offsets.remove(&buffer) {
            self.live.remove(&offset);
        }
    }

    fn held(&self) -> u64 {
        self.held
    }

    fn taken(&self, buffer: u64) -> u64 {
        let offset = self.offsets.get(&buffer);
        offset.and_then(|at| Some(self.live.get(at)? - at)).unwrap_or(0)
    }
}
