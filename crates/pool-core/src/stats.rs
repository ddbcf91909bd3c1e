//! Defines a pool's statistics, which are available as plain numbers and as a formatted table.

use core::fmt;

use crate::device::Device;

/// The statistics of one pool or the sum of several pools' statistics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PoolStats {
    /// The name that was set in the pool's configuration.
    pub name: &'static str,
    /// The device whose memory the pool manages.
    pub device: Device,
    /// The number of pools whose statistics were added together.
    pub pools: usize,
    /// The total number of slots that the queried scope and its enclosing scopes have handed out.
    pub active_slots: usize,
    /// The maximum number of slots that were handed out at the same time.
    pub high_water_slots: usize,
    /// The current total size of the pool's blocks in bytes.
    pub reserved_bytes: usize,
    /// The peak total size of the pool's blocks in bytes.
    pub peak_reserved_bytes: usize,
    /// The peak number of bytes in live arrays, computed from the requested lengths. The value is
    /// `None` if the peak was not measured.
    /// [`PoolConfig::measure_live_bytes`](crate::PoolConfig::measure_live_bytes) enables the
    /// measurement. The measurement does not count arrays that were handed out before it was
    /// enabled. For several pools, the value is the sum of their peaks, although the pools might
    /// have reached their peaks at different times. The sum is `None` if any of the pools has not
    /// measured its peak.
    pub peak_live_bytes: Option<usize>,
    /// The total size in bytes of blocks that were leaked because the backend's `reuse` method
    /// failed.
    pub leaked_bytes: usize,
    /// The number of bytes of host memory used by tables and pool state, excluding cached shapes.
    pub bookkeeping_bytes: usize,
    /// The pool's byte limit, or `usize::MAX` if there is no limit.
    pub byte_limit: usize,
    /// The number of blocks that the pool has allocated.
    pub growths: u64,
    /// The number of acquires that took the cold path. The count includes the first acquire of each
    /// slot, each acquire that grew a block, and each acquire of a marked slot (see
    /// [`Scope::acquire_with`](crate::Scope::acquire_with)). Every acquire takes the cold path
    /// while poisoning, fresh blocks, sampling, or the measurement of live bytes is enabled.
    pub cold_acquires: u64,
    /// The number of acquires with a dynamic rank whose shape was in the cache.
    pub shape_hits: u64,
    /// The number of acquires with a dynamic rank whose shape was not in the cache.
    pub shape_misses: u64,
}

impl PoolStats {
    /// Returns empty statistics, to which other statistics can be [added](Self::plus).
    #[must_use]
    pub const fn none(name: &'static str, device: Device) -> Self {
        Self {
            name,
            device,
            pools: 0,
            active_slots: 0,
            high_water_slots: 0,
            reserved_bytes: 0,
            peak_reserved_bytes: 0,
            peak_live_bytes: None,
            leaked_bytes: 0,
            bookkeeping_bytes: 0,
            byte_limit: usize::MAX,
            growths: 0,
            cold_acquires: 0,
            shape_hits: 0,
            shape_misses: 0,
        }
    }

    /// Returns the sum of these statistics and `other`. The result has the name, device, and byte
    /// limit of `self`.
    #[must_use]
    pub const fn plus(mut self, other: &Self) -> Self {
        self.pools = self.pools.saturating_add(other.pools);
        self.active_slots = self.active_slots.saturating_add(other.active_slots);
        self.high_water_slots = self.high_water_slots.saturating_add(other.high_water_slots);
        self.reserved_bytes = self.reserved_bytes.saturating_add(other.reserved_bytes);
        self.peak_reserved_bytes =
            self.peak_reserved_bytes.saturating_add(other.peak_reserved_bytes);
        self.peak_live_bytes = match (self.peak_live_bytes, other.peak_live_bytes) {
            (Some(own), Some(others)) => Some(own.saturating_add(others)),
            _ => None,
        };
        self.leaked_bytes = self.leaked_bytes.saturating_add(other.leaked_bytes);
        self.bookkeeping_bytes = self.bookkeeping_bytes.saturating_add(other.bookkeeping_bytes);
        self.growths = self.growths.saturating_add(other.growths);
        self.cold_acquires = self.cold_acquires.saturating_add(other.cold_acquires);
        self.shape_hits = self.shape_hits.saturating_add(other.shape_hits);
        self.shape_misses = self.shape_misses.saturating_add(other.shape_misses);
        self
    }

    /// Returns the ratio of the blocks' current total size to the peak number of live bytes.
    /// Returns `None` if [`peak_live_bytes`](Self::peak_live_bytes) is `None` or 0.
    ///
    /// The best possible ratio is 1. Each slot's block is as large as the largest array that has
    /// used the slot. A pool therefore holds more memory if arrays that use the same slot differ in
    /// length. To lower the ratio, first acquire the large arrays whose lengths never change, and
    /// then acquire the others.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "a ratio needs no exact byte count")]
    pub fn held_per_live_byte(&self) -> Option<f64> {
        let live = self.peak_live_bytes.filter(|&bytes| bytes > 0)?;
        Some(self.reserved_bytes as f64 / live as f64)
    }
}

impl fmt::Display for PoolStats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} on {}", self.name, self.device)?;
        if self.pools > 1 {
            row(f, "pools", self.pools)?;
        }
        row(f, "slots in use", self.active_slots)?;
        row(f, "peak slots", self.high_water_slots)?;
        row(f, "reserved", Bytes(self.reserved_bytes))?;
        row(f, "peak reserved", Bytes(self.peak_reserved_bytes))?;
        if let Some(live) = self.peak_live_bytes {
            row(f, "peak live", Bytes(live))?;
        }
        if let Some(ratio) = self.held_per_live_byte() {
            row(f, "reserved / live", alloc::format!("{ratio:.2}"))?;
        }
        if self.byte_limit != usize::MAX {
            row(f, "limit", Bytes(self.byte_limit))?;
        }
        if self.leaked_bytes > 0 {
            row(f, "leaked", Bytes(self.leaked_bytes))?;
        }
        row(f, "bookkeeping", Bytes(self.bookkeeping_bytes))?;
        row(f, "growths", self.growths)?;
        row(f, "cold acquires", self.cold_acquires)?;
        row(f, "shape cache hits", self.shape_hits)?;
        row(f, "shape cache misses", self.shape_misses)
    }
}

fn row(f: &mut fmt::Formatter<'_>, name: &str, value: impl fmt::Display) -> fmt::Result {
    writeln!(f, "  {name:<18} {value:>12}")
}

/// A number of bytes that is displayed in binary units.
struct Bytes(usize);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
        if self.0 < 1024 {
            return f.pad(&alloc::format!("{} B", self.0));
        }
        let mut unit = 0;
        let mut whole = self.0;
        let mut rest = 0;
        while whole >= 1024 && (unit == 0 || unit < UNITS.len()) {
            rest = whole % 1024;
            whole /= 1024;
            unit += 1;
        }
        f.pad(&alloc::format!("{whole}.{} {}", rest * 10 / 1024, UNITS[unit - 1]))
    }
}

/// A report on the memory that `trim` or `compact` has freed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReleaseReport {
    /// The number of slots whose blocks were freed or replaced.
    pub slots: usize,
    /// The number of bytes that the pool no longer holds. The number of freed bytes includes the
    /// bytes that the pool had to leak (see [`PoolStats::leaked_bytes`]).
    pub bytes: usize,
    /// The number of bytes in pages that have been returned to the system. The pool still counts
    /// these bytes as reserved. Only bytes above all arrays that are currently handed out can be
    /// discarded. The stack's chunk must also be a separate memory mapping. On Linux, this requires
    /// a chunk of 2 MiB or more. The addresses of the discarded bytes remain valid, and the bytes
    /// are zero when they are next read. The number of discarded bytes includes bytes in pages that
    /// have never been used.
    pub discarded_bytes: usize,
}

impl ReleaseReport {
    pub(crate) fn note(&mut self, bytes: usize) {
        self.slots += usize::from(bytes > 0);
        self.bytes += bytes;
    }

    /// Returns the sum of two reports.
    #[must_use]
    pub const fn plus(mut self, other: Self) -> Self {
        self.slots = self.slots.saturating_add(other.slots);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.discarded_bytes = self.discarded_bytes.saturating_add(other.discarded_bytes);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::Bytes;
    use alloc::string::ToString;

    #[test]
    fn bytes_in_binary_units() {
        for (bytes, text) in [
            (0, "0 B"),
            (1023, "1023 B"),
            (1024, "1.0 KiB"),
            (1536, "1.5 KiB"),
            (1 << 20, "1.0 MiB"),
            (5 << 29, "2.5 GiB"),
            (usize::MAX, if usize::BITS == 64 { "15.9 EiB" } else { "3.9 GiB" }),
        ] {
            assert_eq!(Bytes(bytes).to_string(), text);
        }
    }
}
