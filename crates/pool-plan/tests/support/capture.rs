//! Random captures of several streams, as in pytorch#158352: each operation on a uniform stream;
//! with probability 0.1 it first joins a uniform other stream; it uses up to two live buffers whose
//! definition reaches it; it may allocate, and may free a uniform live buffer.

use pool_plan::{
    Buffer, Edge, GraphBuffer, HappensBeforeProblem, IntervalProblem, PlanError, Role,
};

/// How to make a capture.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Capture {
    pub(crate) operations: usize,
    pub(crate) streams: usize,
    pub(crate) allocate: f64,
    pub(crate) free: f64,
    /// Whether buffers that are never freed are live-out, and so share with nothing; otherwise
    /// they may take the bytes of buffers before them.
    pub(crate) live_out: bool,
    pub(crate) seed: u64,
}

/// A capture as a graph, and as what call order alone says.
#[derive(Debug)]
pub(crate) struct Captured {
    pub(crate) graph: HappensBeforeProblem,
    pub(crate) call_order: IntervalProblem,
}

/// The captures of the acceptance figures: all settings in turn, each problem with its own seed.
pub(crate) fn settings(count: usize, live_out: bool) -> impl Iterator<Item = Capture> {
    (0..count).map(move |number| Capture {
        operations: 2000,
        streams: [1, 2, 4, 8][number % 4],
        allocate: [0.1, 0.3][number / 4 % 2],
        free: [0.1, 0.3][number / 8 % 2],
        live_out,
        seed: 1 + number as u64,
    })
}

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, count: usize) -> usize {
        (self.next() % count as u64) as usize
    }

    fn chance(&mut self, probability: f64) -> bool {
        ((self.next() >> 11) as f64 / (1_u64 << 53) as f64) < probability
    }
}

struct Made {
    size: u64,
    defined: usize,
    uses: Vec<usize>,
    freed: Option<usize>,
}

impl Capture {
    /// Makes it.
    pub(crate) fn make(&self) -> Result<Captured, PlanError> {
        let mut random = Random(self.seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let words = self.operations.div_ceil(64);
        let mut ancestors: Vec<Vec<u64>> = Vec::new();
        let mut last: Vec<Option<usize>> = vec![None; self.streams];
        let mut edges = Vec::new();
        let mut made: Vec<Made> = Vec::new();
        let mut live: Vec<usize> = Vec::new();
        for operation in 0..self.operations {
            let stream = random.below(self.streams);
            // The first operation of a stream forks from the first of all.
            let mut after: Vec<usize> = vec![last[stream].unwrap_or(0)];
            if random.chance(0.1) && self.streams > 1 {
                let other = (stream + 1 + random.below(self.streams - 1)) % self.streams;
                after.extend(last[other]);
            }
            after.retain(|&one| one != operation);
            after.sort_unstable();
            after.dedup();
            let mut row = vec![0_u64; words];
            for &one in &after {
                edges.push(Edge::full(one, operation));
                row.iter_mut().zip(&ancestors[one]).for_each(|(word, other)| *word |= other);
                row[one / 64] |= 1 << (one % 64);
            }
            last[stream] = Some(operation);
            for _ in 0..live.len().min(2) {
                let buffer = &mut made[live[random.below(live.len())]];
                if row[buffer.defined / 64] >> (buffer.defined % 64) & 1 == 1 {
                    buffer.uses.push(operation);
                }
            }
            ancestors.push(row);
            if random.chance(self.allocate) {
                let size = (256 << random.below(8)) * (1 + random.below(4) as u64);
                live.push(made.len());
                made.push(Made { size, defined: operation, uses: vec![operation], freed: None });
            }
            if random.chance(self.free) && !live.is_empty() {
                let buffer = live.swap_remove(random.below(live.len()));
                made[buffer].freed = Some(operation);
            }
        }
        self.problems(&made, edges)
    }

    fn problems(&self, made: &[Made], edges: Vec<Edge>) -> Result<Captured, PlanError> {
        let mut buffers = Vec::new();
        let mut intervals = Vec::new();
        for (number, one) in made.iter().enumerate() {
            let id = number.to_string();
            let end = one.freed.unwrap_or(self.operations) + 1;
            let lifetime = (one.defined as i64, end as i64);
            let mut interval = Buffer::new(id.clone(), lifetime.0, lifetime.1, one.size);
            interval.alignment = 256;
            intervals.push(interval);
            let freed_by = if one.freed.is_some() { one.uses.clone() } else { Vec::new() };
            let mut buffer = GraphBuffer::new(id, one.size, one.defined, freed_by);
            buffer.alignment = 256;
            if one.freed.is_none() && self.live_out {
                buffer.role = Role::LiveOut;
            }
            buffers.push(buffer);
        }
        let graph = HappensBeforeProblem::new(self.operations, edges, buffers)?;
        Ok(Captured { graph, call_order: IntervalProblem::new(intervals)? })
    }
}
