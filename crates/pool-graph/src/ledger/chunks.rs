//! The chunks that the pool has received from its source, in order of arrival.
//!
//! A chunk that was added after the pool's creation is called *grown*. A reset puts each grown
//! chunk to sleep, unless it contains leased blocks. The pool allocates no block from a sleeping
//! chunk until the pool grows again. To grow, the pool wakes a sleeping chunk before requesting
//! memory from the source. A reset therefore returns a pool to its initial state. If the same
//! requests follow, the pool finds the same free regions, grows at the same points, and uses the
//! same chunks.
//!
//! The slots of chunks that are being returned to the source form a linked list. The caller stores
//! the head of the list, so releasing a chunk allocates nothing.

use pool_core::reserve::Reserve;

use super::piece::Piece;
use crate::base::request::Request;

/// The slot number that means "no chunk".
const NONE: u32 = u32::MAX;

/// A range of memory from the source that belongs to the pool.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chunk {
    pub(super) piece: Piece,
    /// The number of bytes that the pool would have requested for the chunk if it had no size
    /// limit. The chunk itself can be smaller.
    pub(super) wanted: u64,
    /// The chunk's position in the order in which the pool added its chunks.
    age: u64,
    /// The slots of the chunks that were added before and after this chunk.
    older: u32,
    newer: u32,
    /// The slot of the chunk's first region.
    pub(super) first: u32,
    /// `true` if the chunk was added after the pool was created.
    pub(super) grown: bool,
    /// `true` if the chunk is asleep. The pool allocates no block from a sleeping chunk until the
    /// pool grows.
    pub(super) asleep: bool,
    /// The number of blocks in the chunk.
    pub(super) blocks: u64,
}

/// The contents of a slot in the list of chunks.
#[derive(Clone, Copy, Debug)]
pub(super) enum Slot {
    Vacant,
    Here(Chunk),
    /// A piece being returned to the source, and the slot of the next piece.
    Leaving(Piece, u32),
}

/// A list of pieces that the ledger has released. The caller must return these pieces to the source
/// one at a time.
#[derive(Debug)]
#[must_use = "memory that is not given back is lost"]
pub(crate) struct LeavingPieces {
    first: u32,
    last: u32,
    pub(crate) pieces: usize,
    pub(crate) bytes: u64,
}

impl LeavingPieces {
    pub(super) const NOTHING: Self = Self { first: NONE, last: NONE, pieces: 0, bytes: 0 };
}

/// All chunks of a pool.
#[derive(Debug)]
pub(super) struct Chunks {
    slots: Vec<Slot>,
    oldest: u32,
    newest: u32,
    next_age: u64,
}

impl Chunks {
    pub(super) const fn new() -> Self {
        Self { slots: Vec::new(), oldest: NONE, newest: NONE, next_age: 0 }
    }

    /// Returns the capacity to reserve before another chunk can be added, or `None` if the capacity
    /// is sufficient.
    pub(super) fn lacks(&self) -> Option<usize> {
        if self.vacancy().is_some() { None } else { self.slots.lacking(1) }
    }

    /// Moves the list to the larger buffer in `spare`.
    pub(super) fn put(&mut self, spare: &mut Vec<Slot>) {
        self.slots.move_to(spare);
    }

    /// Adds a chunk and returns its slot. The `first` closure receives the slot and creates the
    /// chunk's first region.
    pub(super) fn add(
        &mut self,
        piece: Piece,
        wanted: u64,
        grown: bool,
        first: impl FnOnce(u32) -> u32,
    ) -> u32 {
        let place = self.vacancy().unwrap_or(self.slots.len());
        if place == self.slots.len() {
            self.slots.push(Slot::Vacant);
        }
        #[expect(
            clippy::cast_possible_truncation,
            reason = "fewer than regions, which are counted"
        )]
        let number = place as u32;
        let (age, older) = (self.next_age, self.newest);
        self.slots[place] = Slot::Here(Chunk {
            piece,
            wanted,
            age,
            older,
            newer: NONE,
            first: first(number),
            grown,
            asleep: false,
            blocks: 0,
        });
        self.set_newer(older, number);
        self.newest = number;
        self.next_age += 1;
        number
    }

    pub(super) fn get(&self, place: u32) -> Option<&Chunk> {
        match self.slots.get(place as usize)? {
            Slot::Here(chunk) => Some(chunk),
            _ => None,
        }
    }

    pub(super) fn get_mut(&mut self, place: u32) -> Option<&mut Chunk> {
        match self.slots.get_mut(place as usize)? {
            Slot::Here(chunk) => Some(chunk),
            _ => None,
        }
    }

    /// Removes a chunk from the pool and adds it to the `leaving` list.
    pub(super) fn let_go(&mut self, place: u32, leaving: &mut LeavingPieces) -> Option<Chunk> {
        let chunk = *self.get(place)?;
        let Chunk { piece, older, newer, .. } = chunk;
        self.set_newer(older, newer);
        self.set_older(newer, older);
        self.slots[place as usize] = Slot::Leaving(piece, NONE);
        if let Some(Slot::Leaving(_, next)) = self.slots.get_mut(leaving.last as usize) {
            *next = place;
        } else {
            leaving.first = place;
        }
        leaving.last = place;
        leaving.pieces += 1;
        leaving.bytes += piece.bytes;
        Some(chunk)
    }

    /// Returns the next piece that must go back to the source and marks its slot as vacant.
    pub(super) fn next_leaving(&mut self, leaving: &mut LeavingPieces) -> Option<Piece> {
        let slot = self.slots.get_mut(leaving.first as usize)?;
        let Slot::Leaving(piece, next) = *slot else { return None };
        *slot = Slot::Vacant;
        leaving.first = next;
        Some(piece)
    }

    pub(super) fn oldest(&self) -> Option<u32> {
        some(self.oldest)
    }

    pub(super) fn newest(&self) -> Option<u32> {
        some(self.newest)
    }

    pub(super) fn newer(&self, place: u32) -> Option<u32> {
        some(self.get(place)?.newer)
    }

    pub(super) fn older(&self, place: u32) -> Option<u32> {
        some(self.get(place)?.older)
    }

    pub(super) fn all(&self) -> impl Iterator<Item = (u32, &Chunk)> {
        (0..).zip(&self.slots).filter_map(|(place, slot)| match slot {
            Slot::Here(chunk) => Some((place, chunk)),
            _ => None,
        })
    }

    /// Returns a sleeping chunk that is large enough for the request. This method prefers the
    /// oldest chunk that was added for the same request size. If there is no such chunk, the method
    /// returns the smallest sleeping chunk that is large enough.
    pub(super) fn to_wake(&self, request: &Request) -> Option<u32> {
        let fits = |chunk: &Chunk| {
            chunk.asleep && request.padding(chunk.piece.address, chunk.piece.bytes).is_some()
        };
        let other = |chunk: &Chunk| chunk.wanted != request.growth();
        let rank = |chunk: &Chunk| {
            (other(chunk), if other(chunk) { chunk.piece.bytes } else { 0 }, chunk.age)
        };
        let fitting = self.all().filter(|(_, chunk)| fits(chunk));
        fitting.min_by_key(|(_, chunk)| rank(chunk)).map(|(place, _)| place)
    }

    fn vacancy(&self) -> Option<usize> {
        self.slots.iter().position(|slot| matches!(slot, Slot::Vacant))
    }

    /// Links the chunk in slot `place` to the chunk that was added after it. If `place` is `NONE`,
    /// `newer` becomes the slot of the pool's oldest chunk.
    fn set_newer(&mut self, place: u32, newer: u32) {
        match self.get_mut(place) {
            Some(chunk) => chunk.newer = newer,
            None => self.oldest = newer,
        }
    }

    /// Links the chunk in slot `place` to the chunk that was added before it. If `place` is `NONE`,
    /// `older` becomes the slot of the pool's newest chunk.
    fn set_older(&mut self, place: u32, older: u32) {
        match self.get_mut(place) {
            Some(chunk) => chunk.older = older,
            None => self.newest = older,
        }
    }
}

fn some(place: u32) -> Option<u32> {
    (place != NONE).then_some(place)
}
