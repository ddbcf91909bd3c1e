//! Problems of many families: networks of several kinds, traces of a compiler, tight packings,
//! lifetimes and sizes with long tails, and patterns of other programs (`patterns.rs`).

#[path = "patterns.rs"]
mod patterns;

use pool_plan::{Buffer, Gap, IntervalProblem};

/// A kind of problem.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Family {
    /// A network without branches: each layer reads the output of the previous one.
    Chain,
    /// A network whose blocks split into branches that are joined again.
    Branches,
    /// A network whose blocks add their input to their output.
    Residual,
    /// Attention: projections, a large matrix of scores, and their results.
    Attention,
    /// A training step: activations live until the backward pass.
    Training,
    /// Optimiser states that are live all the time, and temporaries of the update.
    Optimiser,
    /// Very many buffers of very few sizes.
    EqualSizes,
    /// Sizes and lifetimes over several orders of magnitude.
    LongTails,
    /// Values of a compiler's blocks: small, few live for long.
    Compiler,
    /// Pieces of a rectangle: a plan without free bytes exists.
    Tight,
    /// Alignments of all kinds.
    Aligned,
    /// Lifetimes with gaps.
    Gaps,
    /// Stages of a pipeline that work on shifted batches.
    Pipeline,
    /// Consecutive requests for pages, with random lifetimes.
    Serving,
    /// Sizes that are powers of two, beside weights that live all the time.
    Powers,
    /// Nested calls: lifetimes within lifetimes.
    Nested,
    /// Large buffers that live for a moment, and small ones in between that stay.
    Comb,
    /// Buffers that accumulate and are freed all at once.
    Sawtooth,
    /// One lifetime for all.
    EqualLifetimes,
    /// Huge pages, with small buffers between.
    Pages,
    /// Lifetimes of random bits.
    Bits,
}

/// All families.
pub(crate) const FAMILIES: [Family; 21] = [
    Family::Chain,
    Family::Branches,
    Family::Residual,
    Family::Attention,
    Family::Training,
    Family::Optimiser,
    Family::EqualSizes,
    Family::LongTails,
    Family::Compiler,
    Family::Tight,
    Family::Aligned,
    Family::Gaps,
    Family::Pipeline,
    Family::Serving,
    Family::Powers,
    Family::Nested,
    Family::Comb,
    Family::Sawtooth,
    Family::EqualLifetimes,
    Family::Pages,
    Family::Bits,
];

/// Makes a problem of a family with about `count` buffers, in random order, with names in another order.
pub(crate) fn problem(family: Family, count: usize, seed: u64) -> IntervalProblem {
    let mut random = Random::new(seed);
    let mut trace = Trace { buffers: Vec::new(), random: random.split(), count };
    match family {
        Family::Chain => trace.chain(),
        Family::Branches => trace.branches(),
        Family::Residual => trace.residual(),
        Family::Attention => trace.attention(),
        Family::Training => trace.training(),
        Family::Optimiser => trace.optimiser(),
        Family::EqualSizes => trace.equal_sizes(),
        Family::LongTails | Family::Aligned | Family::Gaps => trace.long_tails(),
        Family::Compiler => trace.compiler(),
        Family::Tight => trace.tight(),
        other => trace.pattern(other),
    }
    let mut buffers = trace.buffers;
    random.shuffle(&mut buffers);
    let mut names: Vec<usize> = (0..buffers.len()).collect();
    random.shuffle(&mut names);
    for (buffer, name) in buffers.iter_mut().zip(names) {
        buffer.id = format!("b{name}");
        match family {
            Family::Aligned => buffer.alignment = 1 << random.below(9),
            Family::Gaps if buffer.upper - buffer.lower > 3 && random.below(2) == 0 => {
                let lower = buffer.lower + 1 + random.below(2) as i64;
                buffer.gaps = vec![Gap { lower, upper: buffer.upper - 1 }];
            }
            _ => {}
        }
    }
    IntervalProblem::new(buffers).expect("families make valid problems")
}

/// A trace to which events are added.
struct Trace {
    buffers: Vec<Buffer>,
    random: Random,
    count: usize,
}

impl Trace {
    fn is_whole(&self) -> bool {
        self.buffers.len() >= self.count
    }

    fn add(&mut self, lower: u64, upper: u64, size: u64) {
        self.buffers.push(Buffer::new("", lower as i64, upper.max(lower + 1) as i64, size.max(1)));
    }

    /// Returns a size as in a network: few channels, and a picture that gets smaller.
    fn layer(&mut self, time: u64) -> u64 {
        let channels = 16 << self.random.below(4);
        let side = 64 >> (time / 24).min(4);
        channels * side * side
    }

    fn chain(&mut self) {
        let mut time = 0;
        while !self.is_whole() {
            let size = self.layer(time);
            self.add(time, time + 2, size);
            time += 1;
        }
    }

    fn branches(&mut self) {
        let mut time = 0;
        while !self.is_whole() {
            let branches = 2 + self.random.below(4);
            let depth = 1 + self.random.below(4);
            let size = self.layer(time);
            self.add(time, time + 1 + branches * depth, size);
            let join = time + 1 + branches * depth;
            for branch in 0..branches {
                for layer in 0..depth {
                    let start = time + 1 + branch * depth + layer;
                    let end = if layer + 1 == depth { join + 1 } else { start + 2 };
                    let size = self.layer(time) / branches;
                    self.add(start, end, size);
                }
            }
            time = join;
        }
    }

    fn residual(&mut self) {
        let mut time = 0;
        while !self.is_whole() {
            let (size, layers) = (self.layer(time), 2 + self.random.below(3));
            self.add(time, time + layers + 1, size);
            for layer in 0..layers {
                let inner = size >> self.random.below(3);
                self.add(time + layer, time + layer + 2, inner);
            }
            time += layers;
        }
    }

    fn attention(&mut self) {
        let (width, length) = (64 << self.random.below(3), 32 << self.random.below(4));
        let mut time = 0;
        while !self.is_whole() {
            let tokens = width * length;
            self.add(time, time + 9, tokens);
            for projection in 0..3 {
                self.add(time + projection, time + 5 + projection / 2, tokens);
            }
            for step in 0..2 {
                self.add(time + 4 + step, time + 6 + step, length * length * 8);
            }
            self.add(time + 6, time + 8, tokens);
            self.add(time + 7, time + 10, tokens);
            self.add(time + 8, time + 10, tokens * 4);
            time += 9;
        }
    }

    fn training(&mut self) {
        let layers = (self.count as u64 / 5).max(2);
        for layer in 0..layers {
            let (size, back) = (self.layer(layer), 2 * layers - layer);
            self.add(layer, back + 1, size);
            let inner = layer + 1 + self.random.below(2);
            self.add(layer, inner, size / 2);
            self.add(back, back + 2, size);
            self.add(back, 2 * layers + 2 + layer, size / 8);
            let workspace = 1 << self.random.below(16);
            self.add(back, back + 1, workspace);
        }
    }

    fn optimiser(&mut self) {
        let states = (self.count as u64 / 4).max(1);
        for state in 0..states {
            let size = 256 << self.random.below(8);
            self.add(0, 2 * states, size);
            let (loaded, updated) = (self.random.below(states), self.random.below(3));
            self.add(0, state + 1 + loaded, size);
            self.add(state, state + 2, size);
            self.add(state + 1, state + 2 + updated, size * 2);
        }
    }

    fn equal_sizes(&mut self) {
        let sizes = [512, 512, 512, 1024, 4096];
        while !self.is_whole() {
            let lower = self.random.below(self.count as u64);
            let upper = lower + 1 + self.random.below(12);
            let size = sizes[self.random.below(5) as usize];
            self.add(lower, upper, size);
        }
    }

    fn long_tails(&mut self) {
        while !self.is_whole() {
            let lower = self.random.below(self.count as u64);
            let upper = lower + self.random.long_tail(self.count as u64);
            let size = self.random.long_tail(1 << 24);
            self.add(lower, upper, size);
        }
    }

    fn compiler(&mut self) {
        let mut time = 0;
        while !self.is_whole() {
            let block = 3 + self.random.below(20);
            for step in 0..block {
                let escapes = self.random.below(8) == 0;
                let left = if escapes { block * 3 } else { block - step };
                let upper = time + step + 1 + self.random.below(left);
                let size = (8 + 8 * self.random.below(4)) << self.random.below(4);
                self.add(time + step, upper, size);
            }
            time += block;
        }
    }

    fn tight(&mut self) {
        let mut pieces = vec![(0, 1 << 16, 0, 1 << 16)];
        while pieces.len() < self.count {
            let chosen = self.random.below(pieces.len() as u64) as usize;
            let (left, right, bottom, top) = pieces.swap_remove(chosen);
            if top - bottom > right - left && top - bottom > 1 {
                let middle = bottom + 1 + self.random.below(top - bottom - 1);
                pieces.extend([(left, right, bottom, middle), (left, right, middle, top)]);
            } else if right - left > 1 {
                let middle = left + 1 + self.random.below(right - left - 1);
                pieces.extend([(left, middle, bottom, top), (middle, right, bottom, top)]);
            } else {
                pieces.push((left, right, bottom, top));
            }
        }
        for (left, right, bottom, top) in pieces {
            self.add(left, right, top - bottom);
        }
    }
}

/// Random numbers (xorshift).
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        let mut random = Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
        for _ in 0..8 {
            random.next();
        }
        random
    }

    fn split(&mut self) -> Self {
        Self(self.next() | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// Returns a number below a limit that is not 0.
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        (self.next() >> 16) % limit
    }

    /// Returns a number from 1 to a limit, with a uniform order of magnitude.
    fn long_tail(&mut self, limit: u64) -> u64 {
        let most = 1 << self.below(u64::from(limit.max(2).ilog2()) + 1);
        1 + self.below(most)
    }

    pub(crate) fn shuffle<T>(&mut self, list: &mut [T]) {
        for last in (1..list.len()).rev() {
            list.swap(last, self.below(last as u64 + 1) as usize);
        }
    }
}
