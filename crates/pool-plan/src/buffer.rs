//! The buffers of an interval problem, with their lifetimes and gaps.

use crate::error::PlanError;
use crate::limits;

/// A time span `[lower, upper)` within a buffer's lifetime. During the gap, other buffers may use
/// the buffer's bytes.
///
/// The buffer's contents are lost during a gap. After the gap, the buffer is still at the same
/// offset, but its bytes may have changed.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize, serde::Serialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct Gap {
    /// The gap's start time.
    pub lower: i64,
    /// The gap's exclusive end.
    pub upper: i64,
}

/// A buffer that is live during the half-open time span `[lower, upper)`.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize, serde::Serialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct Buffer {
    /// The buffer's name, which must be unique in the problem. If the name is empty, messages show
    /// the buffer's index instead, such as `#7`.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "String::is_empty"))]
    pub id: String,
    /// The first time at which the buffer is live.
    pub lower: i64,
    /// The first time after `lower` at which the buffer is no longer live.
    pub upper: i64,
    /// The buffer's size in bytes.
    pub size: u64,
    /// The alignment of the buffer's offset, which must be a power of two.
    #[cfg_attr(feature = "serde", serde(default = "crate::limits::unaligned"))]
    pub alignment: u64,
    /// The buffer's fixed offset, or `None` if the planner may choose the offset.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub offset: Option<u64>,
    /// The time spans during which other buffers may use the buffer's bytes, in ascending order.
    #[cfg_attr(
        feature = "serde",
        serde(
            default,
            skip_serializing_if = "Vec::is_empty",
            deserialize_with = "crate::lists::gaps"
        )
    )]
    pub gaps: Vec<Gap>,
}

impl AsRef<Self> for Buffer {
    fn as_ref(&self) -> &Self {
        self
    }
}

impl Buffer {
    /// Creates a buffer of `size` bytes that is live during `[lower, upper)` and may be placed at
    /// any offset.
    #[must_use]
    pub fn new(id: impl Into<String>, lower: i64, upper: i64, size: u64) -> Self {
        Self { id: id.into(), lower, upper, size, alignment: 1, offset: None, gaps: Vec::new() }
    }

    /// Creates a buffer without a name. Unlike [`new`](Self::new), `unnamed` allocates no heap
    /// memory.
    #[must_use]
    pub const fn unnamed(lower: i64, upper: i64, size: u64) -> Self {
        Self { id: String::new(), lower, upper, size, alignment: 1, offset: None, gaps: Vec::new() }
    }

    /// Returns the time spans during which the buffer is live, in ascending order. The spans cover
    /// the buffer's lifetime except for its gaps.
    pub fn live_spans(&self) -> impl Iterator<Item = (i64, i64)> + '_ {
        let begins = std::iter::once(self.lower).chain(self.gaps.iter().map(|gap| gap.upper));
        let ends = self.gaps.iter().map(|gap| gap.lower).chain(std::iter::once(self.upper));
        begins.zip(ends).filter(|(lower, upper)| lower < upper)
    }

    /// Returns an error if the buffer's lifetime or gaps are invalid. The error contains the
    /// buffer's name, or the given index if the buffer has no name.
    pub(crate) fn check(&self, index: usize) -> Result<(), PlanError> {
        if self.lower >= self.upper {
            let (id, lower, upper) = (limits::label(&self.id, index), self.lower, self.upper);
            return Err(PlanError::InvertedLifetime { id, lower, upper });
        }
        let mut free_from = self.lower;
        for gap in &self.gaps {
            if gap.lower < free_from || gap.lower >= gap.upper || gap.upper > self.upper {
                return Err(self.bad_gap(index, *gap));
            }
            free_from = gap.upper;
        }
        match (self.live_spans().next(), self.gaps.last()) {
            (None, Some(last)) => Err(self.bad_gap(index, *last)),
            _ => Ok(()),
        }
    }

    fn bad_gap(&self, index: usize, gap: Gap) -> PlanError {
        let id = limits::label(&self.id, index);
        PlanError::BadGap { id, lower: gap.lower, upper: gap.upper }
    }
}
