//! Measures the peak number of live bytes in a pool. Live bytes are counted only while the
//! configuration makes all acquire methods call the cold function.

use alloc::vec::Vec;
use core::cell::Cell;

/// A counter for the live bytes of one pool.
///
/// A slot is handed out only once all slots below it have been handed out. The number of live bytes
/// up to a slot is therefore the number up to the previous slot plus the slot's own bytes. The
/// counter therefore does not need to be notified when a scope ends.
pub(super) struct LiveBytes {
    /// For each handed-out slot, the number of bytes that were live when the slot was handed out,
    /// including the slot's own bytes.
    ends: Cell<Vec<usize>>,
    /// The peak number of live bytes, or `None` if no bytes were counted.
    peak: Cell<Option<usize>>,
}

impl LiveBytes {
    pub(super) const fn new() -> Self {
        Self { ends: Cell::new(Vec::new()), peak: Cell::new(None) }
    }

    /// Returns the peak number of live bytes, or `None` if no bytes were counted.
    pub(super) fn peak(&self) -> Option<usize> {
        self.peak.get()
    }

    /// Records that slot `number` is handed out with `bytes` bytes while slot `idle_from` and all
    /// later slots are idle. The slot must be the next slot to be handed out, or must already have
    /// been handed out.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`note`](Self::note).
    pub(super) fn hand_out(
        &self,
        number: usize,
        idle_from: usize,
        bytes: usize,
    ) -> Result<(), usize> {
        if number >= idle_from {
            return self.note(number, bytes);
        }
        self.change(number, idle_from, bytes);
        Ok(())
    }

    /// Records that slot `number` is handed out with `bytes` bytes and removes the records of all
    /// slots above it. If a slot below `number` was handed out without being counted, its size
    /// counts as 0 bytes.
    ///
    /// # Errors
    ///
    /// The error contains the number of bytes that the host could not allocate. If an error is
    /// returned, nothing has been recorded.
    fn note(&self, number: usize, bytes: usize) -> Result<(), usize> {
        // The vector is moved out of its cell because the allocator might run code that reads the
        // pool's statistics.
        let mut ends = self.ends.take();
        ends.truncate(number);
        let before = ends.last().copied().unwrap_or(0);
        let missing = number - ends.len() + 1;
        if ends.try_reserve(missing).is_err() {
            let requested = (number + 1).saturating_mul(size_of::<usize>());
            self.ends.set(ends);
            return Err(requested);
        }
        let end = before.saturating_add(bytes);
        ends.resize(number, before);
        ends.push(end);
        self.ends.set(ends);
        self.peak.set(Some(self.peak.get().map_or(end, |peak| peak.max(end))));
        Ok(())
    }

    /// Records that slot `number` now uses `bytes` bytes. The slot must be one of the first
    /// `handed_out` slots of the pool. If the slot was not counted, the method has no effect.
    pub(super) fn change(&self, number: usize, handed_out: usize, bytes: usize) {
        let mut ends = self.ends.take();
        ends.truncate(handed_out);
        let before = number.checked_sub(1).and_then(|below| ends.get(below)).copied().unwrap_or(0);
        if let Some((own, above)) = ends.get_mut(number..).and_then(<[usize]>::split_first_mut) {
            let (old, new) = (*own, before.saturating_add(bytes));
            *own = new;
            for end in above {
                *end = end.saturating_sub(old).saturating_add(new);
            }
        }
        let end = ends.last().copied().unwrap_or(0);
        self.ends.set(ends);
        self.peak.set(self.peak.get().map(|peak| peak.max(end)));
    }

    /// Frees the counter's memory but retains the peak.
    pub(super) fn stop(&self) {
        drop(self.ends.take());
    }

    /// Resets the peak to `None`.
    pub(super) fn forget_peak(&self) {
        self.peak.set(None);
    }

    /// Returns the number of bytes of host memory used by the counter.
    pub(super) fn bookkeeping_bytes(&self) -> usize {
        let ends = self.ends.take();
        let bytes = ends.capacity() * size_of::<usize>();
        self.ends.set(ends);
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::LiveBytes;

    #[test]
    fn a_slot_ends_what_is_above_it() {
        let live = LiveBytes::new();
        assert_eq!(live.peak(), None);
        for (number, bytes, peak) in
            [(0, 10, 10), (1, 5, 15), (2, 1, 16), (1, 2, 16), (2, 3, 16), (3, 2, 17)]
        {
            live.note(number, bytes).unwrap();
            assert_eq!(live.peak(), Some(peak), "slot {number}");
        }
    }

    #[test]
    fn what_changes_changes_what_is_above_it() {
        let live = LiveBytes::new();
        for (number, bytes) in [(0, 10), (1, 20), (2, 30), (3, 40)] {
            live.note(number, bytes).unwrap();
        }
        // Slot 3 was recorded but is not one of the first three slots, so its bytes are no longer
        // counted.
        live.change(1, 3, 25);
        assert_eq!(live.peak(), Some(100));
        live.note(3, 36).unwrap();
        assert_eq!(live.peak(), Some(101));
        live.change(0, 4, 0);
        live.note(4, 11).unwrap();
        assert_eq!(live.peak(), Some(102));
        live.change(9, 5, 1_000);
        assert_eq!(live.peak(), Some(102));
    }

    #[test]
    fn what_was_not_counted_counts_for_nothing() {
        let live = LiveBytes::new();
        live.note(4, 8).unwrap();
        live.note(5, 8).unwrap();
        assert_eq!(live.peak(), Some(16));
        live.stop();
        assert_eq!((live.peak(), live.bookkeeping_bytes()), (Some(16), 0));
        live.forget_peak();
        live.note(0, 0).unwrap();
        assert_eq!(live.peak(), Some(0));
    }

    #[test]
    fn a_sum_above_what_counts_is_the_largest_number() {
        let live = LiveBytes::new();
        live.note(0, usize::MAX).unwrap();
        live.note(1, 1).unwrap();
        assert_eq!(live.peak(), Some(usize::MAX));
    }
}
