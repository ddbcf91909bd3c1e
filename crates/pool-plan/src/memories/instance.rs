//! The problem in the form required by the solvers. Time is divided into sections. Whenever a
//! buffer becomes live, a new section starts.

use crate::memory::Memory;

use super::problem::MemoryProblem;

/// A problem, and the sections into which its time is divided.
pub(super) struct Instance<'a> {
    pub(super) problem: &'a MemoryProblem,
    /// The start times of the sections in ascending order.
    pub(super) times: Vec<i64>,
    /// The spans of sections in which the buffers are live, grouped by buffer.
    spans: Vec<(u32, u32)>,
    /// For each buffer, the index of its first span.
    starts: Vec<u32>,
    /// For each memory, the end of the highest buffer that is fixed in that memory.
    pub(super) floors: Vec<u64>,
}

impl<'a> Instance<'a> {
    /// Divides a problem's time into sections.
    // Uncounted: the loop needs no counter because the function makes only a few passes over the
    // buffers. This function runs before the planner computes its first plan.
    pub(super) fn new(problem: &'a MemoryProblem) -> Self {
        let live = || problem.buffers().iter().flat_map(|one| one.buffer.live_spans());
        let mut times: Vec<i64> = live().map(|span| span.0).collect();
        times.sort_unstable();
        times.dedup();
        // There are never more sections than spans, and a problem contains at most 1,048,576 spans.
        let at = |time: i64| {
            u32::try_from(times.partition_point(|&begin| begin < time)).unwrap_or(u32::MAX)
        };
        let spans = live().map(|(lower, upper)| (at(lower), at(upper))).collect();
        let mut starts = vec![0_u32];
        for one in problem.buffers() {
            let count = u32::try_from(one.buffer.live_spans().count()).unwrap_or(u32::MAX);
            starts.push(starts.last().copied().unwrap_or(0) + count);
        }
        let mut floors = vec![0; problem.memories().len()];
        for one in problem.buffers() {
            if let (&[memory], Some(offset)) = (one.choices(), one.buffer.offset) {
                floors[memory] = floors[memory].max(offset + one.buffer.size);
            }
        }
        Self { problem, times, spans, starts, floors }
    }

    /// Returns the number of buffers.
    pub(super) fn len(&self) -> usize {
        self.problem.buffers().len()
    }

    /// Returns the memories.
    pub(super) fn memories(&self) -> &'a [Memory] {
        self.problem.memories()
    }

    /// Returns the memories in which a buffer may be placed.
    pub(super) fn choices(&self, buffer: usize) -> &'a [usize] {
        self.problem.buffers()[buffer].choices()
    }

    /// Returns a buffer's size.
    pub(super) fn size(&self, buffer: usize) -> u64 {
        self.problem.buffers()[buffer].buffer.size
    }

    /// Returns the cost of a buffer's traffic in the given memory.
    pub(super) fn traffic(&self, buffer: usize, memory: usize) -> u64 {
        self.memories()[memory].traffic_cost * self.problem.buffers()[buffer].traffic
    }

    /// Returns the spans of sections in which a buffer is live, in ascending order.
    pub(super) fn spans(&self, buffer: usize) -> &[(u32, u32)] {
        &self.spans[self.starts[buffer] as usize..self.starts[buffer + 1] as usize]
    }

    /// Returns `true` if two buffers are live at the same time and both have a nonzero size.
    pub(super) fn conflict(&self, one: usize, other: usize) -> bool {
        let (mut left, mut right) = (self.spans(one).iter(), self.spans(other).iter());
        let (mut first, mut second) = (left.next(), right.next());
        while let (Some(a), Some(b)) = (first, second) {
            if a.0.max(b.0) < a.1.min(b.1) {
                return self.size(one) > 0 && self.size(other) > 0;
            }
            if a.1 <= b.1 {
                first = left.next();
            } else {
                second = right.next();
            }
        }
        false
    }
}
