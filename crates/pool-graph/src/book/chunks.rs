//! The chunks that the source gave, in the order in which they came.
//!
//! A chunk that was *grown* sleeps after a reset: it is not offered, and is the first to be woken when
//! the pool grows again. So a pool is, after a reset, what it was when it was made, and the same
//! sequence of requests finds the same free regions, grows at the same places and gets the same
//! chunks there.

use super::Piece;
use crate::request::Request;

/// One piece of the source's memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chunk {
    pub(super) piece: Piece,
    /// What the pool wanted when it grew: the source may have had less.
    pub(super) wanted: u64,
    /// Its place in the order in which chunks came.
    pub(super) age: u64,
    /// The region at its beginning.
    pub(super) first: u32,
    /// Whether the pool got it later than at its beginning.
    pub(super) grown: bool,
    /// Whether it is kept for growth, all of it, and not offered.
    pub(super) asleep: bool,
    /// Blocks in it.
    pub(super) blocks: u64,
}

/// All of them.
#[derive(Debug, Default)]
pub(super) struct Chunks {
    slots: Vec<Option<Chunk>>,
    next_age: u64,
}

impl Chunks {
    /// Adds a chunk whose first region `first` makes, given the chunk's place.
    pub(super) fn add(
        &mut self,
        piece: Piece,
        wanted: u64,
        grown: bool,
        first: impl FnOnce(u32) -> u32,
    ) -> u32 {
        let free = self.slots.iter().position(Option::is_none);
        let place = free.unwrap_or(self.slots.len());
        if place == self.slots.len() {
            self.slots.push(None);
        }
        #[expect(
            clippy::cast_possible_truncation,
            reason = "fewer than regions, which are counted"
        )]
        let place = place as u32;
        let (age, first) = (self.next_age, first(place));
        let chunk = Chunk { piece, wanted, age, first, grown, asleep: false, blocks: 0 };
        self.slots[place as usize] = Some(chunk);
        self.next_age += 1;
        place
    }

    pub(super) fn get(&self, place: u32) -> Option<&Chunk> {
        self.slots.get(place as usize)?.as_ref()
    }

    pub(super) fn get_mut(&mut self, place: u32) -> Option<&mut Chunk> {
        self.slots.get_mut(place as usize)?.as_mut()
    }

    pub(super) fn remove(&mut self, place: u32) -> Option<Chunk> {
        self.slots.get_mut(place as usize)?.take()
    }

    /// The places of all, the oldest first.
    pub(super) fn by_age(&self) -> Vec<u32> {
        let mut ages: Vec<(u64, u32)> =
            self.all().map(|(place, chunk)| (chunk.age, place)).collect();
        ages.sort_unstable();
        ages.into_iter().map(|(_, place)| place).collect()
    }

    pub(super) fn all(&self) -> impl Iterator<Item = (u32, &Chunk)> {
        (0..).zip(&self.slots).filter_map(|(place, chunk)| Some((place, chunk.as_ref()?)))
    }

    /// A sleeping chunk that the request fits into: the oldest that growth got for a request like this
    /// one, else the smallest.
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
}
