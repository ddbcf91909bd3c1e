//! Random captures of several streams, as in pytorch#158352. Each operation is on a uniform stream;
//! with probability 0.1 it first joins a uniform other stream. It uses up to two live buffers whose
//! definition reaches it, may allocate, and may free a uniform live buffer.

use pool_plan::{
    Buffer, Edge, GraphBuffer, HappensBeforeProblem, IntervalProblem, PlanError, Role,
};

/// The parameters of a capture.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Capture {
    pub(crate) operations: usize,
    pub(crate) streams: usize,
    pub(crate) allocate: f64,
    pub(crate) free: f64,
    /// `true` if buffers that are never freed are live-out, and so share with nothing; otherwise
    /// they may take the bytes of buffers before them.
    pub(crate) live_out: bool,
    pub(crate) seed: u64,
}

/// A capture as a graph, and as call order alone.
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

    #[allow(clippy::cast_possible_truncation, reason = "it is less than the count")]
    fn below(&mut self, count: usize) -> usize {
        (self.next() % count as u64) as usize
    }

    fn chance(&mut self, probability: f64) -> bool {
        ((self.next() >> 11) as f64 / (1_u64 << 53) as f64) < probability
    }
}

/// One operation of a capture; buffers are named by the order in which they are allocated.
#[derive(Clone, Debug)]
#[allow(dead_code, reason = "streams are for those who really capture it")]
pub(crate) struct Operation {
    pub(crate) stream: usize,
    /// The stream that it joins first.
    pub(crate) joins: Option<usize>,
    /// The operations before it: the last ones of its stream and of the joined one.
    pub(crate) after: Vec<usize>,
    /// Buffers that it uses, each defined before it.
    pub(crate) uses: Vec<usize>,
    /// Bytes of the buffer that it defines.
    pub(crate) allocates: Option<u64>,
    /// The buffer that is freed after it.
    pub(crate) frees: Option<usize>,
}

struct Made {
    size: u64,
    defined: usize,
    uses: Vec<usize>,
    freed: Option<usize>,
}

impl Capture {
    /// Makes its operations, in the order of the calls.
    pub(crate) fn operations(&self) -> Vec<Operation> {
        let mut random = Random(self.seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let words = self.operations.div_ceil(64);
        let mut ancestors: Vec<Vec<u64>> = Vec::new();
        let mut last: Vec<Option<usize>> = vec![None; self.streams];
        let mut operations = Vec::new();
        // The definition of each buffer, and the live ones.
        let (mut defined, mut live) = (Vec::new(), Vec::new());
        for number in 0..self.operations {
            let stream = random.below(self.streams);
            // The first operation of a stream forks from the first of all.
            let mut after: Vec<usize> = vec![last[stream].unwrap_or(0)];
            let mut joins = None;
            if random.chance(0.1) && self.streams > 1 {
                let other = (stream + 1 + random.below(self.streams - 1)) % self.streams;
                after.extend(last[other]);
                joins = last[other].map(|_| other);
            }
            after.retain(|&one| one != number);
            after.sort_unstable();
            after.dedup();
            let mut row = vec![0_u64; words];
            for &one in &after {
                row.iter_mut().zip(&ancestors[one]).for_each(|(word, other)| *word |= other);
                row[one / 64] |= 1 << (one % 64);
            }
            last[stream] = Some(number);
            let mut uses = Vec::new();
            for _ in 0..live.len().min(2) {
                let buffer = live[random.below(live.len())];
                let definition: usize = defined[buffer];
                if row[definition / 64] >> (definition % 64) & 1 == 1 {
                    uses.push(buffer);
                }
            }
            ancestors.push(row);
            let allocates = random.chance(self.allocate).then(|| {
                live.push(defined.len());
                defined.push(number);
                (256 << random.below(8)) * (1 + random.below(4) as u64)
            });
            let frees = (random.chance(self.free) && !live.is_empty())
                .then(|| live.swap_remove(random.below(live.len())));
            operations.push(Operation { stream, joins, after, uses, allocates, frees });
        }
        operations
    }

    /// The planning problems of its operations.
    pub(crate) fn make(&self) -> Result<Captured, PlanError> {
        let (mut edges, mut made) = (Vec::new(), Vec::<Made>::new());
        for (number, operation) in self.operations().into_iter().enumerate() {
            edges.extend(operation.after.iter().map(|&one| Edge::full(one, number)));
            for buffer in operation.uses {
                made[buffer].uses.push(number);
            }
            if let Some(size) = operation.allocates {
                made.push(Made { size, defined: number, uses: vec![number], freed: None });
            }
            if let Some(buffer) = operation.frees {
                made[buffer].freed = Some(number);
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
