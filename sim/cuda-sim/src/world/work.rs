//! Prepares and runs the work of a stream or a graph node.
//!
//! `Work` contains addresses. When it is submitted, the addresses are resolved to parts of blocks
//! (`Unit`), and the accessed bytes are recorded for the race checker.

use super::World;
use super::state::copy::{End, Rows};
use super::state::kernel::ReadyKernel;
use super::state::memory::{POISON_FREED, Piece, Region, Trouble};
use super::state::work::{Access, Fill, Place, Unit, Work};
use crate::report::Mistake;

impl World {
    /// Resolves addresses to parts of blocks. `visible` contains the regions that only this node
    /// sees, because its graph allocates them.
    pub(crate) fn prepare(
        &self,
        work: &Work,
        visible: &[Region],
    ) -> Result<(Unit, Vec<Access>), Trouble> {
        match work {
            Work::Fill(fill) => self.prepare_fill(fill, visible),
            Work::Copy(copy) => {
                let (from, mut accesses) = self.end(&copy.from, &copy.read(), false, visible)?;
                let (to, written) = self.end(&copy.to, &copy.written(), true, visible)?;
                accesses.extend(written);
                Ok((Unit::Copy { to, from }, accesses))
            }
            Work::Host(call) => Ok((Unit::Host(*call), Vec::new())),
            // The accesses of a kernel are only known once it has run.
            Work::Kernel(call) => {
                let regions = self.memory.snapshot();
                let ready = ReadyKernel::new(&call.launch, regions, visible);
                Ok((Unit::Kernel(Box::new(ready)), Vec::new()))
            }
            // The graph launch waits, records events and handles memory. The nodes of a child graph
            // are listed after it.
            Work::Empty
            | Work::Child(_)
            | Work::Conditional(_)
            | Work::Opaque(_)
            | Work::Wait(_)
            | Work::Record(_)
            | Work::Allocate { .. }
            | Work::Free { .. } => Ok((Unit::Nothing, Vec::new())),
        }
    }

    fn prepare_fill(
        &self,
        fill: &Fill,
        visible: &[Region],
    ) -> Result<(Unit, Vec<Access>), Trouble> {
        let mut pieces = Vec::new();
        let rows = fill.rows();
        self.locate(rows.start(), rows.hull(), visible)?;
        for (address, bytes) in rows.each() {
            pieces.extend(self.locate(address, bytes, visible)?);
        }
        let access = |piece: &Piece| Access { piece: *piece, writes: true, node: None };
        let accesses = pieces.iter().map(access).collect();
        let element = fill.value.to_le_bytes()[..fill.element].to_vec();
        Ok((Unit::Fill { pieces, element }, accesses))
    }

    /// Returns the parts of blocks that hold the rows of an end, and an access for each. All rows
    /// must be in one allocation.
    fn end(
        &self,
        end: &End,
        rows: &Rows,
        writes: bool,
        visible: &[Region],
    ) -> Result<(Place, Vec<Access>), Trouble> {
        let access = |piece: Piece| Access { piece, writes, node: None };
        match end {
            End::Device(_) => {
                self.locate(rows.start(), rows.hull(), visible)?;
                let mut pieces = Vec::new();
                for (address, bytes) in rows.each() {
                    pieces.extend(self.locate(address, bytes, visible)?);
                }
                let accesses = pieces.iter().copied().map(access).collect();
                Ok((Place::Device(pieces), accesses))
            }
            End::Host(_) => {
                if let Some(trouble) = self.memory.host_trouble(rows.start(), rows.hull()) {
                    return Err(trouble);
                }
                let pieces = rows.each().filter_map(|(at, bytes)| self.memory.pinned(at, bytes));
                Ok((Place::Host(rows.each().collect()), pieces.map(access).collect()))
            }
            End::Staged(staged) => Ok((Place::Staged(staged.clone()), Vec::new())),
        }
    }

    fn locate(&self, address: u64, len: usize, visible: &[Region]) -> Result<Vec<Piece>, Trouble> {
        let inside = |region: &&Region| region.start <= address && address < region.end();
        let Some(region) = visible.iter().find(inside).filter(|_| len > 0) else {
            return self.memory.resolve(address, len);
        };
        if address.saturating_add(len as u64) > region.end() {
            let text = format!("{len} bytes at {address:#x}: {region} ends before");
            return Err(Trouble { mistake: Mistake::OutOfBounds, text });
        }
        let start = usize::try_from(address - region.start).unwrap_or(usize::MAX);
        Ok(vec![Piece { block: region.block, start, len }])
    }

    /// Runs a unit of work whose dependencies have finished.
    pub(crate) fn run_unit(&mut self, unit: Unit) {
        let bytes = match unit {
            // The caller runs kernels and host functions.
            Unit::Nothing | Unit::Host(_) | Unit::Kernel(_) => 0,
            Unit::Fill { pieces, element } => {
                let len: usize = pieces.iter().map(|piece| piece.len).sum();
                let bytes: Vec<u8> = element.iter().copied().cycle().take(len).collect();
                self.memory.scatter(&pieces, &bytes);
                len
            }
            Unit::Copy { to, from } => self.run_copy(&to, from),
            Unit::Free(block) => {
                self.memory.drop_block(block);
                0
            }
            Unit::FreePlain { block, device, bytes } => {
                self.memory.drop_block(block);
                self.give_back(device, bytes);
                0
            }
            Unit::Poison(block) => {
                self.memory.blocks[block].bytes.fill(POISON_FREED);
                0
            }
            Unit::Mark(event, record) => {
                let event = &mut self.events[event];
                if event.record == record {
                    event.time = Some(self.time);
                }
                0
            }
            Unit::Fault(device) => {
                self.devices[device].sticky = Some(crate::code::Code::ILLEGAL_ADDRESS);
                0
            }
        };
        // Each unit takes a microsecond, plus a nanosecond for every 64 bytes. The values only
        // ensure that times differ.
        self.time += 1000 + bytes as u64 / 64;
    }

    fn run_copy(&mut self, to: &Place, from: Place) -> usize {
        let bytes = match from {
            Place::Device(pieces) => self.memory.gather(&pieces),
            Place::Host(rows) => self.read_host(rows.into_iter()),
            Place::Staged(bytes) => bytes,
        };
        match to {
            Place::Device(pieces) => self.memory.scatter(pieces, &bytes),
            Place::Host(rows) => {
                let mut left = &bytes[..];
                for (address, len) in rows {
                    let (row, others) = left.split_at((*len).min(left.len()));
                    self.host.write(*address, row);
                    left = others;
                }
            }
            Place::Staged(_) => {}
        }
        bytes.len()
    }

    /// Reads rows of host memory, one after the other, without the bytes between them.
    pub(super) fn read_host(&self, rows: impl Iterator<Item = (u64, usize)>) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (address, len) in rows {
            let start = bytes.len();
            bytes.resize(start + len, 0);
            self.host.read(address, &mut bytes[start..]);
        }
        bytes
    }
}
