//! The chunks from the source, in the order of their arrival.
//!
//! A chunk that was *grown* sleeps after a reset: it is not offered, and is the first to be woken
//! when the pool grows again. So after a reset a pool is as when it was created. The same sequence
//! of requests finds the same free regions, grows at the same places and gets the same chunks
//! there.
//!
//! Chunks on their way back to the source form a list through their old slots; the releasing code
//! has its head. So a release allocates nothing.

use pool_core::reserve::Reserve;

use super::piece::Piece;
use crate::base::request::Request;

/// The slot number for no chunk.
const NONE: u32 = u32::MAX;

/// A piece of the source's memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chunk {
    pub(super) piece: Piece,
    /// The bytes that the pool wanted when it grew; the source may have had less.
    pub(super) wanted: u64,
    /// The chunk's number in the order of arrival.
    age: u64,
    /// The chunks before and after it in that order.
    older: u32,
    newer: u32,
    /// The slot of the region at the chunk's beginning.
    pub(super) first: u32,
    /// `true` if the pool got the chunk after its creation.
    pub(super) grown: bool,
    /// `true` if the whole chunk is kept for growth, and its regions are not offered.
    pub(super) asleep: bool,
    /// The number of blocks in the chunk.
    pub(super) blocks: u64,
}

/// The content of a slot of the list of chunks.
#[derive(Clone, Copy, Debug)]
pub(super) enum Slot {
    Vacant,
    Here(Chunk),
    /// A piece on its way back to the source, with the slot of the next such piece.
    Leaving(Piece, u32),
}

/// Pieces that the book has released, and that are returned to the source one by one.
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

    /// Returns the capacity that is missing for one more chunk, or `None` if it suffices.
    pub(super) fn lacks(&self) -> Option<usize> {
        if self.vacancy().is_some() { None } else { self.slots.lacking(1) }
    }

    /// Takes the reserved capacity.
    pub(super) fn put(&mut self, room: &mut Vec<Slot>) {
        self.slots.move_to(room);
    }

    /// Adds a chunk. `first` creates its first region, given the chunk's index.
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

    /// Releases a chunk, after those that leave already.
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

    /// Returns the next piece to be returned, whose slot becomes free.
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

    /// Returns a sleeping chunk that the request fits: the oldest one that growth got for such a
    /// request, else the smallest.
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

    /// Sets the successor of a chunk; that of no chunk is the oldest.
    fn set_newer(&mut self, place: u32, newer: u32) {
        match self.get_mut(place) {
            Some(chunk) => chunk.newer = newer,
            None => self.oldest = newer,
        }
    }

    /// Sets the predecessor of a chunk; that of no chunk is the newest.
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
