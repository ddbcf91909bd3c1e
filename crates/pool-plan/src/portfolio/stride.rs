//! The distance between the best peak and the capacity of the next search below it.

/// The first capacity lies below the best peak by the distance to the goal, divided by this number.
const FIRST_PART: u64 = 8;

/// A distance in bytes that doubles after each plan and shrinks if no search finds one.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Stride(Option<u64>);

impl Stride {
    /// Returns the distance below `peak`. It is at least `granule`.
    pub(super) fn bytes(self, (peak, goal): (u64, u64), granule: u64) -> u64 {
        self.0.unwrap_or((peak - goal) / FIRST_PART).max(granule)
    }

    /// Doubles a distance that led to a plan with the given peak.
    pub(super) fn doubled(bytes: u64, (peak, goal): (u64, u64)) -> Self {
        Self(Some((bytes * 2).min(peak.saturating_sub(goal))))
    }

    /// Divides a distance by four.
    pub(super) fn shortened(bytes: u64) -> Self {
        Self(Some(bytes / 4))
    }
}
