//! Held memory: what is held in steady state when lengths vary, against the most bytes that were ever live at
//! one time. Nothing is timed: the lengths are drawn, and the columns say what they hold.

use num_complex::Complex;
use pool_facade::prelude::*;
use pool_facade::{Compaction, Scope};

use crate::published::AdaptivePool;
use crate::record::{Held, Name};

/// Scopes that are drawn for each pattern.
const SCOPES: usize = 8_000;

/// How often the column that compacts does so.
const COMPACT_EVERY: usize = 250;

/// One temporary: its element type and its length.
#[derive(Clone, Copy, Debug)]
struct Request {
    element: u8,
    length: usize,
}

impl Request {
    fn bytes(self) -> usize {
        self.length * [8, 4, 8, 4, 16, 8, 1][usize::from(self.element)]
    }
}

/// A scope: what it takes itself, and the scopes inside, which follow one another.
#[derive(Clone, Debug, Default)]
struct Tree {
    requests: Vec<Request>,
    inner: Vec<Tree>,
}

impl Tree {
    /// The most bytes that are live at one time.
    fn peak(&self) -> usize {
        let own: usize = self.requests.iter().map(|request| request.bytes()).sum();
        own + self.inner.iter().map(Self::peak).max().unwrap_or(0)
    }
}

type Draw = fn(&mut fastrand::Rng, usize) -> Tree;

/// The patterns, in the order of the table.
const PATTERNS: [(&str, Draw); 6] = [
    ("16 × f64, uniform to 10,000", uniform),
    ("16 × f64, log-uniform to 1,000,000", log_uniform),
    ("16 of 7 types, uniform to 10,000", types),
    ("20 call sites, random nesting to depth 4", random_nesting),
    ("a fixed tree of 15 call sites", fixed_tree),
    ("(1,000,000, 100) and (100, 1,000,000) in turns", in_turns),
];

fn uniform(random: &mut fastrand::Rng, _: usize) -> Tree {
    let requests = (0..16).map(|_| Request { element: 0, length: random.usize(1..10_000) });
    Tree { requests: requests.collect(), inner: Vec::new() }
}

fn log_uniform(random: &mut fastrand::Rng, _: usize) -> Tree {
    let requests = (0..16).map(|_| Request { element: 0, length: log_length(random, 1e6) });
    Tree { requests: requests.collect(), inner: Vec::new() }
}

fn types(random: &mut fastrand::Rng, _: usize) -> Tree {
    let requests =
        (0..16).map(|_| Request { element: random.u8(0..7), length: random.usize(1..10_000) });
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

/// A call site asks for about the same each time: its own size, give or take a fifth.
fn of_site(random: &mut fastrand::Rng, site: usize) -> Request {
    let mut own = fastrand::Rng::with_seed(1_000 + site as u64);
    let usual = log_length(&mut own, 1e5) + 10;
    Request { element: own.u8(0..7), length: usual - usual / 5 + random.usize(0..=2 * usual / 5) }
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
    let requests = lengths.map(|length| Request { element: 0, length });
    Tree { requests: requests.to_vec(), inner: Vec::new() }
}

/// A column, as far as it says what it holds.
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
        let columns: [(&str, Box<dyn Holder>); 8] = [
            ("pool", Box::new(Slots::new(PoolConfig::new(), false))),
            ("pool, stacked", Box::new(OneStack(Pool::new(())))),
            ("pool, compacted", Box::new(Slots::new(PoolConfig::new(), true))),
            ("pool, best fit", Box::new(Slots::new(PoolConfig::new().best_fit(true), false))),
            (
                "pool, best fit, compacted",
                Box::new(Slots::new(PoolConfig::new().best_fit(true), true)),
            ),
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
    fn new(config: PoolConfig, compacts: bool) -> Self {
        let mut pool = Pool::new(());
        let configured = pool.configure(config);
        assert!(configured.is_ok(), "the configurations are in range");
        Self { pool, compacts }
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

fn in_pool<B: PoolBackend>(scope: &mut Scope<'_, B>, tree: &Tree) {
    for request in &tree.requests {
        let length = request.length;
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
        scope.alloc_uninit_slice::<u8>(request.bytes());
    }
    for inner in &tree.inner {
        scope.scoped(|scope| in_arena(scope, inner));
    }
}

/// It has no scopes: what inner scopes took is given back only at the end of the outermost one.
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
        if let Ok(layout) = std::alloc::Layout::from_size_align(request.bytes(), 16) {
            bump.alloc_layout(layout);
        }
    }
    for inner in &tree.inner {
        in_bumpalo(bump, inner);
    }
}
