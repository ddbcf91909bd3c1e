//! The placed spans of a timeline, listed in order of their addresses.
//!
//! To find a free range for a new buffer, a placer scans the list, checks each span against the new
//! buffer's spans, and searches for a free range between the spans that overlap. No addresses are
//! gathered or sorted. If many buffers overlap and few of their addresses can be merged, scanning
//! the list is faster than querying a time tree.

use super::ranges::FreeRange;
use crate::heuristic::GreedyFit;
use crate::item::Item;

/// The maximum number of spans in a block. A block that exceeds this number is split in two.
const BLOCK: usize = 256;

/// A placed span of sections, with the addresses of its item.
#[derive(Clone, Copy, Debug)]
struct Placed {
    start: u64,
    end: u64,
    lower: u32,
    upper: u32,
}

/// Placed spans, sorted by address.
#[derive(Debug)]
pub(super) struct SpanList {
    /// The spans, sorted by start and divided into blocks, so that inserting a span moves only the
    /// spans of one block. Only the first block can be empty.
    blocks: Vec<Vec<Placed>>,
}

impl SpanList {
    /// Creates an empty list.
    pub(super) fn new() -> Self {
        Self { blocks: vec![Vec::new()] }
    }

    /// Returns the offset of a free range for an item with the given spans, and the number of
    /// comparisons between spans.
    // Uncounted: the loop needs no counter because the placer counts the returned number of
    // comparisons.
    pub(super) fn room(&self, item: Item, spans: &[(u32, u32)], fit: GreedyFit) -> (u64, usize) {
        let mut free = FreeRange::new(item.size, item.alignment, fit);
        let mut looked = 0;
        for block in &self.blocks {
            looked += block.len() * spans.len();
            // The condition contains no branch, because it would often be mispredicted.
            let is_met = |one: &Placed, (lower, upper): (u32, u32)| {
                (one.lower < upper) & (lower < one.upper)
            };
            if let &[span] = spans {
                block.iter().for_each(|one| free.pass_if(is_met(one, span), one.start, one.end));
            } else {
                for one in block {
                    let is_any_met = spans.iter().any(|&span| is_met(one, span));
                    free.pass_if(is_any_met, one.start, one.end);
                }
            }
            if free.is_found() {
                break;
            }
        }
        (free.offset(), looked)
    }

    /// Adds the spans of an item that occupies the addresses `[start, end)`.
    // Uncounted: the loop needs no counter because the function reads the spans of only one item.
    // The `room` method has already counted these spans.
    pub(super) fn occupy(&mut self, spans: &[(u32, u32)], start: u64, end: u64) {
        for &(lower, upper) in spans {
            self.insert(Placed { start, end, lower, upper });
        }
    }

    /// Inserts a span. If the span before it ends where the new span starts, and both cover the
    /// same sections, they become one.
    fn insert(&mut self, one: Placed) {
        let number = self.blocks[1..].partition_point(|block| block[0].start <= one.start);
        let block = &mut self.blocks[number];
        let place = block.partition_point(|other| other.start <= one.start);
        if let Some(before) = place.checked_sub(1).map(|before| &mut block[before]) {
            if before.end == one.start && (before.lower, before.upper) == (one.lower, one.upper) {
                before.end = one.end;
                return;
            }
        }
        block.insert(place, one);
        if block.len() > BLOCK {
            let rest = block.split_off(BLOCK / 2);
            self.blocks.insert(number + 1, rest);
        }
    }
}
