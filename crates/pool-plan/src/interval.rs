//! The interval problem. All buffers are used on a single stream, and each one is live from one
//! time to another.

use crate::buffer::Buffer;
use crate::error::PlanError;
#[cfg(feature = "serde")]
use crate::error::error_chain;
use crate::limits;
use crate::validate::interval;
use crate::violation::Violation;

/// The buffers used on one stream, with lifetimes measured in call order. Two buffers may share
/// bytes if they are never live at the same time.
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
#[cfg_attr(feature = "serde", serde(try_from = "ProblemFile", into = "ProblemFile"))]
pub struct IntervalProblem {
    buffers: Vec<Buffer>,
}

impl IntervalProblem {
    /// The maximum total number of buffers and gaps in a problem. A program that reads a problem
    /// from a file may stop reading at this limit.
    pub const MOST_SPANS: usize = limits::MOST_SPANS;

    /// Creates the problem of placing `buffers`.
    ///
    /// # Errors
    /// Returns an error in the following cases:
    /// - The problem contains no buffers, or more buffers and gaps than the planner supports.
    /// - A buffer is malformed, or two buffers have the same name.
    /// - The sum of the sizes exceeds `i64::MAX` bytes, or fixed offsets collide.
    pub fn new(buffers: Vec<Buffer>) -> Result<Self, PlanError> {
        limits::check_intervals(buffers.len(), buffers.iter().map(|buffer| buffer.gaps.len()))?;
        limits::check(buffers.iter().map(|buffer| limits::Request {
            id: &buffer.id,
            size: buffer.size,
            alignment: buffer.alignment,
            offset: buffer.offset,
        }))?;
        for (index, buffer) in buffers.iter().enumerate() {
            buffer.check(index)?;
        }
        interval::check_fixed(&buffers).map_err(PlanError::FixedOverlap)?;
        Ok(Self { buffers })
    }

    /// Returns the peak of a plan that places buffer `i` at `offsets[i]`. The peak is the offset
    /// just past the highest byte that any buffer occupies.
    ///
    /// # Errors
    /// Returns the first violation that the validator finds. An offset that is misaligned or
    /// differs from the buffer's fixed offset is a violation. It is also a violation if two buffers
    /// share bytes while both are live.
    pub fn validate(&self, offsets: &[u64]) -> Result<u64, Violation> {
        interval::peak(&self.buffers, offsets)
    }

    /// Returns a lower bound, in bytes, on the peak of every plan. The lower bound holds because
    /// all buffers in `witness` are live at the same time, so no two of them may share bytes.
    ///
    /// If `witness` comes from a certificate, the result equals the certificate's bound. The
    /// validator computes the bound independently of the solver. The bound follows from the sizes,
    /// the fixed offsets, and the padding that alignments require.
    ///
    /// # Errors
    /// Fails if `witness` contains an index that belongs to no buffer, the same index twice, or
    /// buffers that are not all live at the same time.
    ///
    /// ```
    /// use pool_plan::{Buffer, IntervalProblem, Options};
    ///
    /// let aligned = |upper| Buffer { alignment: 64, ..Buffer::unnamed(0, upper, 65) };
    /// let problem = IntervalProblem::new(vec![aligned(1), aligned(2)])?;
    /// let certificate = problem.solve(&Options::default())?.certificate;
    /// assert_eq!(problem.validate_witness(&certificate.witness), Ok(certificate.bound));
    /// assert_eq!(certificate.bound, 128 + 65);
    /// # Ok::<(), pool_plan::PlanError>(())
    /// ```
    pub fn validate_witness(&self, witness: &[usize]) -> Result<u64, Violation> {
        interval::witnessed(&self.buffers, witness)
    }

    /// Returns the buffers. A plan's offsets are in the same order as the returned slice.
    #[must_use]
    pub fn buffers(&self) -> &[Buffer] {
        &self.buffers
    }
}

#[cfg(feature = "serde")]
impl IntervalProblem {
    /// Deserializes a problem and passes each buffer to a closure that may change it before it is
    /// validated. For example, the closure may increase alignments or remove fixed offsets.
    ///
    /// # Errors
    /// Fails if the input is not a serialized problem, or if [`new`](Self::new) rejects the
    /// modified buffers.
    pub fn deserialize_with<'de, D: serde::Deserializer<'de>>(
        from: D,
        change: impl FnMut(&mut Buffer),
    ) -> Result<Self, D::Error> {
        let mut file = <ProblemFile as serde::Deserialize>::deserialize(from)?;
        file.buffers.iter_mut().for_each(change);
        Self::try_from(file).map_err(serde::de::Error::custom)
    }
}

/// The contents of a problem file before validation.
#[cfg(feature = "serde")]
#[derive(serde::Deserialize, serde::Serialize)]
#[serde(deny_unknown_fields)]
struct ProblemFile {
    #[serde(deserialize_with = "crate::lists::buffers")]
    buffers: Vec<Buffer>,
}

#[cfg(feature = "serde")]
impl TryFrom<ProblemFile> for IntervalProblem {
    /// This type's error text includes all of the error's sources because a serde format can report
    /// an error only as text.
    type Error = String;

    fn try_from(unchecked: ProblemFile) -> Result<Self, String> {
        Self::new(unchecked.buffers).map_err(|error| error_chain(&error))
    }
}

#[cfg(feature = "serde")]
impl From<IntervalProblem> for ProblemFile {
    fn from(problem: IntervalProblem) -> Self {
        Self { buffers: problem.buffers }
    }
}
