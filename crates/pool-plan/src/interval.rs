//! The interval problem: buffers that live from one time to another, on one stream.

use crate::error::PlanError;
use crate::limits;
use crate::validate;

/// A time span `[lower, upper)` within a buffer's lifetime in which its bytes are free for others.
///
/// Its contents are lost there: the buffer comes back to the same offset, not to the same bytes.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize, serde::Serialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct Gap {
    /// Where it begins.
    pub lower: i64,
    /// Where it ends, exclusive.
    pub upper: i64,
}

/// A buffer that lives in the half-open time span `[lower, upper)`.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize, serde::Serialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct Buffer {
    /// Its name, unique in the problem.
    pub id: String,
    /// The first time at which it is live.
    pub lower: i64,
    /// The first time after `lower` at which it is no longer live.
    pub upper: i64,
    /// Its size in bytes.
    pub size: u64,
    /// Its offset is a multiple of this power of two.
    #[cfg_attr(feature = "serde", serde(default = "limits::unaligned"))]
    pub alignment: u64,
    /// Where it must be placed, if that is given.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub offset: Option<u64>,
    /// When others may have its bytes, in order of time.
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

impl Buffer {
    /// A buffer of `size` bytes that lives in `[lower, upper)`, at any offset.
    #[must_use]
    pub fn new(id: impl Into<String>, lower: i64, upper: i64, size: u64) -> Self {
        Self { id: id.into(), lower, upper, size, alignment: 1, offset: None, gaps: Vec::new() }
    }

    /// The time spans in which it is live, in order: its lifetime without the gaps.
    pub fn live_spans(&self) -> impl Iterator<Item = (i64, i64)> + '_ {
        let begins = std::iter::once(self.lower).chain(self.gaps.iter().map(|gap| gap.upper));
        let ends = self.gaps.iter().map(|gap| gap.lower).chain(std::iter::once(self.upper));
        begins.zip(ends).filter(|(lower, upper)| lower < upper)
    }

    fn check(&self) -> Result<(), PlanError> {
        if self.lower >= self.upper {
            let (id, lower, upper) = (self.id.clone(), self.lower, self.upper);
            return Err(PlanError::InvertedLifetime { id, lower, upper });
        }
        let mut free_from = self.lower;
        for gap in &self.gaps {
            if gap.lower < free_from || gap.lower >= gap.upper || gap.upper > self.upper {
                return Err(self.bad_gap(*gap));
            }
            free_from = gap.upper;
        }
        match (self.live_spans().next(), self.gaps.last()) {
            (None, Some(last)) => Err(self.bad_gap(*last)),
            _ => Ok(()),
        }
    }

    fn bad_gap(&self, gap: Gap) -> PlanError {
        PlanError::BadGap { id: self.id.clone(), lower: gap.lower, upper: gap.upper }
    }
}

/// Buffers of one stream, in call order: two of them may share bytes if they are never live at
/// the same time.
///
/// ```
/// use pool_plan::{Buffer, IntervalProblem, Options};
///
/// let problem = IntervalProblem::new(vec![
///     Buffer::new("input", 0, 2, 4096),
///     Buffer::new("hidden", 1, 4, 1024),
///     Buffer::new("output", 3, 5, 4096),
/// ])?;
/// let plan = problem.solve(&Options::default())?;
/// assert_eq!(plan.certificate.peak, 5120);
/// assert!(plan.certificate.is_optimal());
/// # Ok::<(), pool_plan::PlanError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize, serde::Serialize))]
#[cfg_attr(feature = "serde", serde(try_from = "Unchecked", into = "Unchecked"))]
pub struct IntervalProblem {
    buffers: Vec<Buffer>,
}

impl IntervalProblem {
    /// The problem of placing `buffers`.
    ///
    /// # Errors
    /// If there are none, or more of them and their gaps than the planner takes, if one is malformed, if
    /// two have one name, if the sizes exceed `i64::MAX` bytes together, or if fixed offsets collide.
    pub fn new(buffers: Vec<Buffer>) -> Result<Self, PlanError> {
        limits::check_intervals(buffers.len(), buffers.iter().map(|buffer| buffer.gaps.len()))?;
        limits::check(buffers.iter().map(|buffer| limits::Request {
            id: &buffer.id,
            size: buffer.size,
            alignment: buffer.alignment,
            offset: buffer.offset,
        }))?;
        for buffer in &buffers {
            buffer.check()?;
        }
        validate::fixed_intervals(&buffers).map_err(PlanError::FixedOverlap)?;
        Ok(Self { buffers })
    }

    /// The buffers, in the order in which a plan's offsets are listed.
    #[must_use]
    pub fn buffers(&self) -> &[Buffer] {
        &self.buffers
    }
}

/// What a file holds, before it is checked.
#[cfg(feature = "serde")]
#[derive(serde::Deserialize, serde::Serialize)]
#[serde(deny_unknown_fields)]
struct Unchecked {
    #[serde(deserialize_with = "crate::lists::buffers")]
    buffers: Vec<Buffer>,
}

#[cfg(feature = "serde")]
impl TryFrom<Unchecked> for IntervalProblem {
    type Error = PlanError;

    fn try_from(unchecked: Unchecked) -> Result<Self, PlanError> {
        Self::new(unchecked.buffers)
    }
}

#[cfg(feature = "serde")]
impl From<IntervalProblem> for Unchecked {
    fn from(problem: IntervalProblem) -> Self {
        Self { buffers: problem.buffers }
    }
}
