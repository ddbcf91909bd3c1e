//! Held memory in steady state when lengths vary, relative to the peak of live bytes. Nothing is
//! timed: the lengths are drawn, and the columns report the bytes that they hold.

use std::hint::black_box;

use num_complex::Complex;
use pool_facade::prelude::*;
use pool_facade::{Compaction, HostBackend, Scope};

use crate::published::AdaptivePool;
use crate::record::{Held, Name};

/// Scopes that are drawn for each pattern.
const SCOPES: usize = 8_000;

/// The number of scopes between two calls of `compact`.
const COMPACT_EVERY: usize = 250;

/// One temporary: its element type, its length, and `true` if it is a vector that grows to that
/// length.
#[derive(Clone, Copy, Debug)]
struct Request {
    element: u8,
    length: usize,
    grows: bool,
}

impl Request {
    fn of(element: u8, length: usize) -> Self {
        Self { element, length, grows: false }
    }

    fn bytes(self) -> usize {
        self.length * [8, 4, 8, 4, 16, 8, 1][usize::from(self.element)]
    }
}

/// A scope: its own temporaries, and the consecutive scopes inside.
#[derive(Clone, Debug, Default)]
struct Tree {
    requests: Vec<Request>,
    inner: Vec<Tree>,
}

impl Tree {
    /// Returns the peak of live bytes.
    fn peak(&self) -> usize {
        let own: usize = self.requests.iter().map(|request| request.bytes()).sum();
        own + self.inner.iter().map(Self::peak).max().unwrap_or(0)
    }
}

type Draw = fn(&mut fastrand::Rng, usize) -> Tree;

/// The patterns, in the order of the table.
const PATTERNS: [(&str, Draw); 10] = [
    ("16 × f64, uniform to 10,000", uniform),
    ("16 × f64, log-uniform to 1,000,000", log_uniform),
    ("16 of 7 types, uniform to 10,000", types),
    ("20 call sites, random nesting to depth 4", random_nesting),
    ("a fixed tree of 15 call sites", fixed_tree),
    ("(1,000,000, 100) and (100, 1,000,000) in turns", in_turns),
    ("1 to 40 × f64, log-uniform to 100,000", random_counts),
    ("3 × f64 of 10, 1,000, 100,000, 1,000,000 and back, in turns", up_and_down),
    ("a merge sort's recursion, to 100,000 × f64", recursion),
    ("a parser's growing vectors, to depth 4", parser),
];

fn uniform(random: &mut fastrand::Rng, _: usize) -> Tree {
    let requests = (0..16).map(|_| Request::of(0, random.usize(1..10_000)));
    Tree { requests: requests.collect(), inner: Vec::new() }
}

fn log_uniform(random: &mut fastrand::Rng, _: usize) -> Tree {
    let requests = (0..16).map(|_| Request::of(0, log_length(random, 1e6)));
    Tree { requests: requests.collect(), inner: Vec::new() }
}

fn types(random: &mut fastrand::Rng, _: usize) -> Tree {
    let requests = (0..16).map(|_| Request::of(random.u8(0..7), random.usize(1..10_000)));
    Tree { requests: requests.collect(), inner: Vec::new() }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a length between 1 and `most`"
)]
fn log_length(random: &mut fastrand::Rng, most: f64) -> usize {
    most.powf(random.f64()) as usize
}

/// Each call site requests a similar length each time: its own, plus or minus a fifth.
fn of_site(random: &mut fastrand::Rng, site: usize) -> Request {
    let mut own = fastrand::Rng::with_seed(1_000 + site as u64);
    let usual = log_length(&mut own, 1e5) + 10;
    Request::of(own.u8(0..7), usual - usual / 5 + random.usize(0..=2 * usual / 5))
}

fn random_nesting(random: &mut fastrand::Rng, _: usize) -> Tree {
    nested(random, 4)
}

fn nested(random: &mut fastrand::Rng, depth: usize) -> Tree {
    let requests = (0..random.usize(1..=3)).map(|_| random.usize(0..20)).collect::<Vec<_>>();
    let requests = requests.into_iter().map(|site| of_site(random, site)).collect();
    let inner = if depth > 1 { random.usize(0..=2) } else { 0 };
    Tree { requests, inner: (0..inner).map(|_| nested(random, depth - 1)).collect() }
}

/// Every scope takes one array and has two scopes inside, to depth 4: sites 0 to 14.
fn fixed_tree(random: &mut fastrand::Rng, _: usize) -> Tree {
    fixed_from(random, 0)
}

fn fixed_from(random: &mut fastrand::Rng, site: usize) -> Tree {
    let requests = vec![of_site(random, site)];
    let inner = [2 * site + 1, 2 * site + 2].into_iter().filter(|&site| site < 15);
    Tree { requests, inner: inner.map(|site| fixed_from(random, site)).collect() }
}

fn in_turns(_: &mut fastrand::Rng, scope: usize) -> Tree {
    let (large, small) = (1_000_000, 100);
    let lengths = if scope % 2 == 0 { [large, small] } else { [small, large] };
    let requests = lengths.map(|length| Request::of(0, length));
    Tree { requests: requests.to_vec(), inner: Vec::new() }
}

fn random_counts(random: &mut fastrand::Rng, _: usize) -> Tree {
    let count = random.usize(1..=40);
    let requests = (0..count).map(|_| Request::of(0, log_length(random, 1e5)));
    Tree { requests: requests.collect(), inner: Vec::new() }
}

fn up_and_down(_: &mut fastrand::Rng, scope: usize) -> Tree {
    let length = [10, 1_000, 100_000, 1_000_000, 100_000, 1_000][scope % 6];
    Tree { requests: vec![Request::of(0, length); 3], inner: Vec::new() }
}

/// Each level takes room for its elements, and sorts the two halves before.
fn recursion(random: &mut fastrand::Rng, _: usize) -> Tree {
    sorted(random.usize(1_000..100_000))
}

fn sorted(length: usize) -> Tree {
    let halves = if length > 100 { vec![length / 2, length - length / 2] } else { Vec::new() };
    Tree { requests: vec![Request::of(0, length)], inner: halves.into_iter().map(sorted).collect() }
}

/// Each node collects its tokens into a vector, then parses the text between them.
fn parser(random: &mut fastrand::Rng, _: usize) -> Tree {
    parsed(random, 4)
}

fn parsed(random: &mut fastrand::Rng, depth: usize) -> Tree {
    let tokens = Request { element: 2, length: log_length(random, 4e3), grows: true };
    let inner = if depth > 1 { random.usize(0..=2) } else { 0 };
    Tree { requests: vec![tokens], inner: (0..inner).map(|_| parsed(random, depth - 1)).collect() }
}

/// The numbers that a vector of a parser grows by.
fn tokens(length: usize) -> impl Iterator<Item = i64> {
    (0..).take(length)
}

/// A column that reports the bytes that it holds.
trait Holder {
    fn run(&mut self, tree: &Tree);
    fn held(&self) -> usize;
    fn growths(&self) -> Option<u64>;
    /// Called after every scope.
    fn between(&mut self, _scope: usize) {}
}

/// Runs every pattern on every column.
#[must_use]
pub fn measure() -> Vec<Held> {
    let mut records = Vec::new();
    for (pattern, draw) in PATTERNS {
        let columns: [(&str, Box<dyn Holder>); 6] = [
            ("pool", Box::new(Slots::new(false))),
            ("pool, stacked", Box::new(OneStack(Pool::new(())))),
            ("pool, compacted", Box::new(Slots::new(true))),
            ("published", Box::new(Published(AdaptivePool::default()))),
            ("bump-scope", Box::new(BumpScope(bump_scope::Bump::new()))),
            ("bumpalo, reset", Box::new(Bumpalo(bumpalo::Bump::new()))),
        ];
        for (column, mut holder) in columns {
            records.push(one(pattern, draw, column, holder.as_mut()));
        }
    }
    records
}

fn one(pattern: &str, draw: Draw, column: &str, holder: &mut dyn Holder) -> Held {
    let mut random = fastrand::Rng::with_seed(9);
    let mut peak = 0;
    let mut half_way = None;
    for scope in 0..SCOPES {
        let tree = draw(&mut random, scope);
        peak = peak.max(tree.peak());
        holder.run(&tree);
        holder.between(scope);
        if scope == SCOPES / 2 {
            half_way = holder.growths();
        }
    }
    let late = holder.growths().zip(half_way).map(|(end, half)| end - half);
    Held {
        name: Name {
            workload: "held memory".to_owned(),
            variant: pattern.to_owned(),
            column: column.to_owned(),
        },
        peak_live: peak as u64,
        held: holder.held() as u64,
        late_growths: late.map(|late| per_thousand(late, SCOPES / 2)),
    }
}

#[expect(clippy::cast_precision_loss, reason = "small counts")]
fn per_thousand(count: u64, scopes: usize) -> f64 {
    count as f64 * 1_000.0 / scopes as f64
}

/// The pool, as it is or compacted now and then.
struct Slots {
    pool: Pool<Cpu>,
    compacts: bool,
}

impl Slots {
    fn new(compacts: bool) -> Self {
        Self { pool: Pool::new(()), compacts }
    }
}

impl Holder for Slots {
    fn run(&mut self, tree: &Tree) {
        in_pool(&mut self.pool.scope(), tree);
    }

    fn held(&self) -> usize {
        self.pool.stats().reserved_bytes
    }

    fn growths(&self) -> Option<u64> {
        Some(self.pool.stats().growths)
    }

    fn between(&mut self, scope: usize) {
        if self.compacts && scope % COMPACT_EVERY == 0 {
            let compaction = Compaction { factor: 1.25, shrink_to: 1.0, minimum_bytes: 4_096 };
            self.pool.compact(&compaction);
        }
    }
}

/// The stacked pool.
struct OneStack(Pool<Stacked<Cpu>>);

impl Holder for OneStack {
    fn run(&mut self, tree: &Tree) {
        in_pool(&mut self.0.scope(), tree);
    }

    fn held(&self) -> usize {
        self.0.stats().reserved_bytes
    }

    fn growths(&self) -> Option<u64> {
        Some(self.0.stats().growths)
    }
}

fn in_pool<B: HostBackend>(scope: &mut Scope<'_, B>, tree: &Tree) {
    for request in &tree.requests {
        let length = request.length;
        if request.grows {
            let mut vector = scope.acquire_vec(0);
            vector.extend(tokens(length));
            black_box(vector.into_slice());
            continue;
        }
        match request.element {
            0 => _ = scope.acquire::<f64, _>(length),
            1 => _ = scope.acquire::<f32, _>(length),
            2 => _ = scope.acquire::<i64, _>(length),
            3 => _ = scope.acquire::<i32, _>(length),
            4 => _ = scope.acquire::<Complex<f64>, _>(length),
            5 => _ = scope.acquire::<Complex<f32>, _>(length),
            _ => _ = scope.acquire::<u8, _>(length),
        }
    }
    for inner in &tree.inner {
        in_pool(&mut scope.scope(), inner);
    }
}

struct Published(AdaptivePool);

impl Holder for Published {
    fn run(&mut self, tree: &Tree) {
        let pool = &mut self.0;
        pool.checkpoint();
        for request in &tree.requests {
            let length = request.length;
            if request.grows {
                // It has no vectors: an array of twice the length, and a copy, each time that one is full.
                let doublings =
                    (0..).map(|step| 4_usize << step).take_while(|&size| size / 2 < length);
                doublings.for_each(|size| _ = pool.acquire::<i64>(size));
                continue;
            }
            match request.element {
                0 => _ = pool.acquire::<f64>(length),
                1 => _ = pool.acquire::<f32>(length),
                2 => _ = pool.acquire::<i64>(length),
                3 => _ = pool.acquire::<i32>(length),
                4 => _ = pool.acquire::<Complex<f64>>(length),
                5 => _ = pool.acquire::<Complex<f32>>(length),
                _ => _ = pool.acquire::<u8>(length),
            }
        }
        for inner in &tree.inner {
            self.run(inner);
        }
        self.0.rewind();
    }

    fn held(&self) -> usize {
        self.0.bytes()
    }

    fn growths(&self) -> Option<u64> {
        Some(self.0.growths())
    }
}

struct BumpScope(bump_scope::Bump);

impl Holder for BumpScope {
    fn run(&mut self, tree: &Tree) {
        self.0.scoped(|scope| in_arena(scope, tree));
    }

    fn held(&self) -> usize {
        self.0.stats().size()
    }

    fn growths(&self) -> Option<u64> {
        None
    }
}

fn in_arena(scope: &mut bump_scope::BumpScope<'_>, tree: &Tree) {
    for request in &tree.requests {
        if request.grows {
            let mut vector = bump_scope::MutBumpVec::new_in(&mut *scope);
            vector.extend(tokens(request.length));
            black_box(vector.into_boxed_slice());
        } else {
            scope.alloc_uninit_slice::<u8>(request.bytes());
        }
    }
    for inner in &tree.inner {
        scope.scoped(|scope| in_arena(scope, inner));
    }
}

/// It has no scopes: memory of inner scopes is freed only at the end of the outermost one.
struct Bumpalo(bumpalo::Bump);

impl Holder for Bumpalo {
    fn run(&mut self, tree: &Tree) {
        in_bumpalo(&self.0, tree);
        self.0.reset();
    }

    fn held(&self) -> usize {
        self.0.allocated_bytes()
    }

    fn growths(&self) -> Option<u64> {
        None
    }
}

fn in_bumpalo(bump: &bumpalo::Bump, tree: &Tree) {
    for request in &tree.requests {
        if request.grows {
            let mut vector = bumpalo::collections::Vec::new_in(bump);
            vector.extend(tokens(request.length));
            black_box(vector.into_bump_slice());
        } else if let Ok(layout) = std::alloc::Layout::from_size_align(request.bytes(), 16) {
            bump.alloc_layout(layout);
        }
    }
    for inner in &tree.inner {
        in_bumpalo(bump, inner);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rounding to lines, and the end of a chunk.
    fn rounding(tree: &Tree) -> usize {
        let inner = tree.inner.iter().map(rounding).max().unwrap_or(0);
        64 * tree.requests.len() + inner
    }

    #[test]
    fn after_three_equal_passes_a_stack_holds_what_was_live() {
        for (pattern, draw) in PATTERNS {
            let mut random = fastrand::Rng::with_seed(3);
            for scope in 0..12 {
                let tree = draw(&mut random, scope);
                let mut stack = OneStack(Pool::new(()));
                (0..3).for_each(|_| stack.run(&tree));
                let (held, growths) = (stack.held(), stack.growths());
                let most = tree.peak() * 105 / 100 + rounding(&tree) + 128;
                assert!(held <= most, "{pattern}: {held} of {most} bytes");
                stack.run(&tree);
                assert_eq!((stack.held(), stack.growths()), (held, growths), "{pattern}");
            }
        }
    }
}
