//! Exact results for small problems by brute force: every order of placement, every set of buffers.

use pool_plan::{Buffer, EdgeKind, GraphBuffer, HappensBeforeProblem, IntervalProblem, Role};

/// A problem as sizes and pairs that may not share bytes.
#[derive(Debug)]
pub(crate) struct Small {
    pub(crate) sizes: Vec<u64>,
    alignments: Vec<u64>,
    fixed: Vec<Option<u64>>,
    pub(crate) conflict: Vec<Vec<bool>>,
}

impl Small {
    pub(crate) fn of_intervals(problem: &IntervalProblem) -> Self {
        let buffers = problem.buffers();
        let live_at = |buffer: &Buffer, time: i64| {
            let in_gap = buffer.gaps.iter().any(|gap| gap.lower <= time && time < gap.upper);
            buffer.lower <= time && time < buffer.upper && !in_gap
        };
        let times = -2..40;
        let together = |one: &Buffer, other: &Buffer| {
            times.clone().any(|time| live_at(one, time) && live_at(other, time))
        };
        Self {
            sizes: buffers.iter().map(|one| one.size).collect(),
            alignments: buffers.iter().map(|one| one.alignment).collect(),
            fixed: buffers.iter().map(|one| one.offset).collect(),
            conflict: matrix(buffers.len(), |i, j| {
                let have_bytes = buffers[i].size > 0 && buffers[j].size > 0;
                have_bytes && together(&buffers[i], &buffers[j])
            }),
        }
    }

    pub(crate) fn of_graph(problem: &HappensBeforeProblem) -> Self {
        let count = problem.operations();
        let mut reaches = vec![vec![false; count]; count];
        for edge in problem.edges().iter().filter(|edge| edge.kind == EdgeKind::Full) {
            reaches[edge.from][edge.to] = true;
        }
        for middle in 0..count {
            for from in 0..count {
                for to in 0..count {
                    reaches[from][to] |= reaches[from][middle] && reaches[middle][to];
                }
            }
        }
        let before = |one: &GraphBuffer, other: &GraphBuffer| {
            let markers = std::iter::once(&one.allocated_by).chain(&one.freed_by);
            let temporary = one.role == Role::Temporary && other.role == Role::Temporary;
            let mut done = markers.map(|&marker| reaches[marker][other.allocated_by]);
            temporary && !one.freed_by.is_empty() && done.all(|done| done)
        };
        let buffers = problem.buffers();
        Self {
            sizes: buffers.iter().map(|one| one.size).collect(),
            alignments: buffers.iter().map(|one| one.alignment).collect(),
            fixed: buffers.iter().map(|one| one.offset).collect(),
            conflict: matrix(buffers.len(), |i, j| {
                let have_bytes = buffers[i].size > 0 && buffers[j].size > 0;
                let is_ordered =
                    before(&buffers[i], &buffers[j]) || before(&buffers[j], &buffers[i]);
                have_bytes && !is_ordered
            }),
        }
    }

    /// Returns the lowest possible peak.
    pub(crate) fn optimum(&self) -> u64 {
        let mut best = u64::MAX;
        self.place(&mut vec![None; self.sizes.len()], 0, &mut best);
        best
    }

    /// Places the open buffers on top of the placed ones, in every order.
    fn place(&self, offsets: &mut Vec<Option<u64>>, peak: u64, best: &mut u64) {
        if peak >= *best {
            return;
        }
        let open: Vec<usize> = (0..offsets.len()).filter(|&one| offsets[one].is_none()).collect();
        if open.is_empty() {
            *best = peak;
        }
        for item in open {
            let below = (0..offsets.len()).filter(|&other| self.conflict[item][other]);
            let tops = below.filter_map(|other| Some(offsets[other]? + self.sizes[other]));
            let lowest = tops.max().unwrap_or(0).next_multiple_of(self.alignments[item]);
            let offset = self.fixed[item].unwrap_or(lowest);
            if offset >= lowest {
                offsets[item] = Some(offset);
                self.place(offsets, peak.max(offset + self.sizes[item]), best);
                offsets[item] = None;
            }
        }
    }

    /// Returns the weight of the heaviest set of buffers in which no two may share bytes.
    pub(crate) fn heaviest(&self) -> u64 {
        let count = self.sizes.len();
        let members = |set: u32| (0..count).filter(move |one| set >> one & 1 == 1);
        let is_clique =
            |set: u32| members(set).all(|i| members(set).all(|j| i == j || self.conflict[i][j]));
        let sets = (0..1_u32 << count).filter(|&set| is_clique(set));
        sets.map(|set| members(set).map(|one| self.sizes[one]).sum()).max().unwrap_or(0)
    }

    /// Returns `true` if offsets are a plan.
    pub(crate) fn accepts(&self, offsets: &[u64]) -> bool {
        let count = offsets.len();
        let alone = |one: usize| {
            offsets[one] % self.alignments[one] == 0
                && self.fixed[one].is_none_or(|fixed| fixed == offsets[one])
        };
        let shares = |i: usize, j: usize| {
            let end = (offsets[i] + self.sizes[i]).min(offsets[j] + self.sizes[j]);
            offsets[i].max(offsets[j]) < end
        };
        (0..count).all(alone)
            && (0..count).all(|i| (0..i).all(|j| !self.conflict[i][j] || !shares(i, j)))
    }
}

fn matrix(count: usize, conflict: impl Fn(usize, usize) -> bool) -> Vec<Vec<bool>> {
    (0..count).map(|i| (0..count).map(|j| i != j && conflict(i, j)).collect()).collect()
}
