//! The naive model: the bytes of every view that is in use, each range stamped with a number of its own.

/// The ranges in use.
#[derive(Debug, Default)]
pub(crate) struct Live {
    ranges: Vec<Range>,
    stamps: u8,
}

#[derive(Debug)]
struct Range {
    start: *mut u8,
    bytes: usize,
    stamp: u8,
    depth: usize,
}

impl Live {
    /// Records an array that a scope of this depth acquired, and stamps it.
    ///
    /// # Panics
    ///
    /// Panics if it overlaps a range in use.
    pub(crate) fn take(&mut self, view: &mut [u8], depth: usize) {
        self.stamps = self.stamps.wrapping_add(1);
        view.fill(self.stamps);
        // The last that is made of the view: what would use it again would end the pointer's right.
        let (start, bytes) = (view.as_mut_ptr(), view.len());
        for range in &self.ranges {
            let apart = start.addr() + bytes <= range.start.addr()
                || range.start.addr() + range.bytes <= start.addr();
            assert!(apart || bytes == 0 || range.bytes == 0, "two views of {start:p}: {self:?}");
        }
        self.ranges.push(Range { start, bytes, stamp: self.stamps, depth });
    }

    /// Looks whether every range is as it was stamped.
    ///
    /// # Panics
    ///
    /// Panics if a byte is not as it was written.
    pub(crate) fn verify(&self) {
        for range in &self.ranges {
            for index in 0..range.bytes {
                let place = range.start.wrapping_add(index);
                // SAFETY: if pools keep their promise, the byte is one of a view whose scope is
                // open, and which nothing has used since this pointer was made. Miri and the
                // sanitizers check that promise here.
                let byte = unsafe { place.read() };
                assert_eq!(byte, range.stamp, "byte {index} of {range:?}");
            }
        }
    }

    /// Forgets the views of scopes of this depth and below, which have ended.
    pub(crate) fn end(&mut self, depth: usize) {
        self.ranges.retain(|range| range.depth < depth);
    }

    /// Returns the number of views in use.
    pub(crate) fn count(&self) -> usize {
        self.ranges.len()
    }
}
