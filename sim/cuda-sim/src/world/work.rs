//! What a stream or a graph's node does: as the caller says it, and ready to run.
//!
//! `Work` names addresses. When it is submitted, addresses become pieces of blocks (`Unit`), and the
//! bytes that it touches become accesses for the race checker.

use super::World;
use super::kernel::{KernelCall, ReadyKernel};
use super::memory::{POISON_FREED, Piece, Region, Trouble};
use super::report::Mistake;
use super::stream::HostCall;

/// What a caller asks for.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Work {
    Empty,
    Fill(Fill),
    Copy(Copy),
    Host(HostCall),
    Kernel(KernelCall),
    /// Runs a graph that is in it.
    Child(usize),
    /// Runs graphs of its own or not; those are shown by their handles. It is captured and read back, and not made
    /// executable.
    Conditional(Vec<u64>),
    /// Waits for an event from outside, at each launch of a graph.
    Wait(usize),
    /// Records one, at each launch of a graph.
    Record(usize),
    Allocate {
        address: u64,
        bytes: usize,
        device: usize,
    },
    Free {
        address: u64,
    },
}

/// Equal elements in rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fill {
    pub(crate) address: u64,
    pub(crate) pitch: usize,
    pub(crate) value: u32,
    /// Bytes of an element: 1, 2 or 4.
    pub(crate) element: usize,
    /// Elements of a row.
    pub(crate) width: usize,
    pub(crate) height: usize,
}

/// Bytes from one place to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Copy {
    pub(crate) to: End,
    pub(crate) from: End,
    pub(crate) bytes: usize,
}

/// One end of a copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Device(u64),
    Host(u64),
    /// Bytes that were taken when the call was made.
    Staged(Vec<u8>),
}

/// The kind of a node, by its number in CUDA.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum NodeKind {
    Kernel = 0,
    Copy = 1,
    Fill = 2,
    Host = 3,
    Child = 4,
    Empty = 5,
    Wait = 6,
    Record = 7,
    Allocate = 10,
    Free = 11,
    Conditional = 13,
}

/// What runs in one go.
#[derive(Debug)]
pub(crate) enum Unit {
    Nothing,
    Fill {
        pieces: Vec<Piece>,
        element: Vec<u8>,
    },
    Copy {
        to: Place,
        from: Place,
    },
    Host(HostCall),
    Kernel(Box<ReadyKernel>),
    /// A block's bytes are overwritten, and go.
    Free(usize),
    /// A block's bytes are overwritten, and stay for the next launch.
    Poison(usize),
    /// An event's record.
    Mark(usize, u64),
    /// The device comes upon an address without memory.
    Fault(usize),
}

/// One end of a copy that is ready to run.
#[derive(Debug)]
pub(crate) enum Place {
    Device(Vec<Piece>),
    Host(u64, usize),
    Staged(Vec<u8>),
}

/// Bytes that are touched.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Access {
    pub(crate) piece: Piece,
    pub(crate) writes: bool,
    pub(crate) node: Option<usize>,
}

impl Work {
    pub(crate) fn kind(&self) -> NodeKind {
        match self {
            Self::Child(_) => NodeKind::Child,
            Self::Conditional(_) => NodeKind::Conditional,
            Self::Empty => NodeKind::Empty,
            Self::Fill(_) => NodeKind::Fill,
            Self::Copy(_) => NodeKind::Copy,
            Self::Host(_) => NodeKind::Host,
            Self::Kernel(_) => NodeKind::Kernel,
            Self::Wait(_) => NodeKind::Wait,
            Self::Record(_) => NodeKind::Record,
            Self::Allocate { .. } => NodeKind::Allocate,
            Self::Free { .. } => NodeKind::Free,
        }
    }
}

impl Fill {
    /// One row of bytes, or of wider elements.
    pub(crate) fn row(address: u64, value: u32, element: usize, width: usize) -> Self {
        Self { address, pitch: 0, value, element, width, height: 1 }
    }

    /// The same but for the value and the address.
    pub(super) fn has_shape_of(&self, other: &Self) -> bool {
        let shape = |fill: &Self| (fill.element, fill.width, fill.height, fill.pitch);
        shape(self) == shape(other)
    }

    pub(crate) fn is_valid(&self) -> bool {
        let Some(row) = self.width.checked_mul(self.element) else { return false };
        matches!(self.element, 1 | 2 | 4)
            && self.address % self.element as u64 == 0
            && (self.height <= 1 || self.pitch >= row)
            && self.pitch.checked_mul(self.height).is_some()
    }
}

impl World {
    /// Addresses become pieces; `visible` are regions that only this node knows, of its graph.
    pub(crate) fn prepare(
        &self,
        work: &Work,
        visible: &[Region],
    ) -> Result<(Unit, Vec<Access>), Trouble> {
        match work {
            Work::Fill(fill) => self.prepare_fill(fill, visible),
            Work::Copy(copy) => {
                let (from, mut accesses) = self.end(&copy.from, copy.bytes, false, visible)?;
                let (to, written) = self.end(&copy.to, copy.bytes, true, visible)?;
                accesses.extend(written);
                Ok((Unit::Copy { to, from }, accesses))
            }
            Work::Host(call) => Ok((Unit::Host(*call), Vec::new())),
            // What it touches is known once it has run.
            Work::Kernel(call) => {
                let regions = self.memory.snapshot();
                let ready = ReadyKernel::new(&call.launch, regions, visible);
                Ok((Unit::Kernel(Box::new(ready)), Vec::new()))
            }
            // Its launch has waited, or records; memory is the launch's, too; a child graph's nodes come behind it.
            Work::Empty
            | Work::Child(_)
            | Work::Conditional(_)
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
        for row in 0..fill.height {
            let address = fill.address.saturating_add((row * fill.pitch) as u64);
            pieces.extend(self.locate(address, fill.width * fill.element, visible)?);
        }
        let access = |piece: &Piece| Access { piece: *piece, writes: true, node: None };
        let accesses = pieces.iter().map(access).collect();
        let element = fill.value.to_le_bytes()[..fill.element].to_vec();
        Ok((Unit::Fill { pieces, element }, accesses))
    }

    fn end(
        &self,
        end: &End,
        bytes: usize,
        writes: bool,
        visible: &[Region],
    ) -> Result<(Place, Vec<Access>), Trouble> {
        match end {
            End::Device(address) => {
                let pieces = self.locate(*address, bytes, visible)?;
                let access = |piece: &Piece| Access { piece: *piece, writes, node: None };
                let accesses = pieces.iter().map(access).collect();
                Ok((Place::Device(pieces), accesses))
            }
            End::Host(address) => {
                if let Some(trouble) = self.memory.host_trouble(*address, bytes) {
                    return Err(trouble);
                }
                let piece = self.memory.pinned(*address, bytes);
                let access = |piece| Access { piece, writes, node: None };
                Ok((Place::Host(*address, bytes), piece.map(access).into_iter().collect()))
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

    /// Runs what is ready.
    pub(crate) fn run_unit(&mut self, unit: Unit) {
        let bytes = match unit {
            // Kernels and host functions are the caller's.
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
                self.devices[device].sticky = Some(super::Code::ILLEGAL_ADDRESS);
                0
            }
        };
        // A microsecond, and a nanosecond for every 64 bytes: times differ, and mean nothing.
        self.time += 1000 + bytes as u64 / 64;
    }

    fn run_copy(&mut self, to: &Place, from: Place) -> usize {
        let bytes = match from {
            Place::Device(pieces) => self.memory.gather(&pieces),
            Place::Host(address, len) => {
                let mut bytes = vec![0; len];
                self.host.read(address, &mut bytes);
                bytes
            }
            Place::Staged(bytes) => bytes,
        };
        match to {
            Place::Device(pieces) => self.memory.scatter(pieces, &bytes),
            Place::Host(address, _) => self.host.write(*address, &bytes),
            Place::Staged(_) => {}
        }
        bytes.len()
    }
}
