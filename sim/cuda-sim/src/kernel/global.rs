//! Global memory during a launch: the allocations that it has accessed, borrowed from the device.

use super::cells::Cells;
use super::launch::{GlobalMemory, Touched, Wrong};
use crate::report::Mistake;

/// A range of addresses, and the bytes borrowed for it.
#[derive(Clone, Copy, Debug)]
struct Window {
    start: u64,
    end: u64,
    taken: usize,
}

/// The bytes of a block, and the accesses to them.
#[derive(Debug)]
pub(super) struct Taken {
    pub(super) block: usize,
    pub(super) bytes: Vec<u8>,
    pub(super) cells: Cells,
}

/// The global memory that a launch has accessed.
pub(super) struct Global<'a> {
    memory: &'a mut dyn GlobalMemory,
    windows: Vec<Window>,
    /// The allocation of the last access: the next access is often in the same one.
    last: usize,
    pub(super) taken: Vec<Taken>,
}

impl<'a> Global<'a> {
    pub(super) fn new(memory: &'a mut dyn GlobalMemory) -> Self {
        Self { memory, windows: Vec::new(), last: 0, taken: Vec::new() }
    }

    /// Finds the borrowed allocation of an address, and the offset in it.
    pub(super) fn locate(&mut self, address: u64, bytes: usize) -> Result<(usize, usize), Wrong> {
        let end = address.saturating_add(bytes as u64);
        let holds = |window: &Window| window.start <= address && end <= window.end;
        if !self.windows.get(self.last).is_some_and(holds) {
            self.last = match self.windows.iter().position(holds) {
                Some(found) => found,
                None => self.open(address, bytes)?,
            };
        }
        let window = self.windows[self.last];
        Ok((window.taken, usize::try_from(address - window.start).unwrap_or(usize::MAX)))
    }

    fn open(&mut self, address: u64, bytes: usize) -> Result<usize, Wrong> {
        let extent = self.memory.around(address, bytes)?;
        let known = self.taken.iter().position(|taken| taken.block == extent.block);
        let taken = match known {
            Some(taken) => taken,
            None => {
                let bytes = self.memory.take(extent.block);
                let cells = Cells::new(bytes.len());
                self.taken.push(Taken { block: extent.block, bytes, cells });
                self.taken.len() - 1
            }
        };
        if self.taken[taken].bytes.len() < extent.bytes {
            let text = format!("{bytes} bytes at {address:#x}: freed before the kernel ran");
            return Err(Wrong { mistake: Mistake::UseAfterFree, text });
        }
        let end = extent.start + extent.bytes as u64;
        self.windows.push(Window { start: extent.start, end, taken });
        Ok(self.windows.len() - 1)
    }

    /// Returns all borrowed bytes to the device, and lists the accessed ranges.
    pub(super) fn close(&mut self) -> Vec<Touched> {
        let mut touched = Vec::new();
        for taken in self.taken.drain(..) {
            let [reads, writes] = taken.cells.touched();
            self.memory.give(taken.block, taken.bytes);
            touched.push(Touched {
                block: taken.block,
                reads: reads.into(),
                writes: writes.into(),
            });
        }
        self.windows.clear();
        touched
    }
}

impl std::fmt::Debug for Global<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Global").field("windows", &self.windows).finish_non_exhaustive()
    }
}
