//! Configuration of a pool: its byte limit, its growth, and its modes for finding mistakes.

use crate::error::ConfigError;

/// The configuration of one pool. Builder methods set the values that differ from the default.
///
/// ```
/// use pool_core::PoolConfig;
/// let config = PoolConfig::new().name("solver").byte_limit(64 << 20).growth_factor(2.0);
/// assert_eq!(config.limit(), 64 << 20);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PoolConfig {
    pub(crate) name: &'static str,
    pub(crate) byte_limit: usize,
    pub(crate) growth_factor: f64,
    pub(crate) huge_pages: bool,
    pub(crate) poison: bool,
    pub(crate) fresh: bool,
    pub(crate) measure_live_bytes: bool,
    pub(crate) warnings: bool,
    pub(crate) ways: usize,
}

impl PoolConfig {
    /// The number of slots from which on each doubling emits a warning (feature `tracing`).
    pub const WARNING_SLOTS: usize = 512;

    /// The number of slots at which debug builds report a pool, once: see [`warnings`](Self::warnings).
    pub const REPORTED_SLOTS: usize = 4096;

    /// Consecutive passes in which a stack grew before a debug build reports it. It reports a pool once: see
    /// [`warnings`](Self::warnings).
    pub const REPORTED_PASSES: usize = 64;

    /// Returns the default configuration: no limit, growth by 1.5 (less for large blocks), huge
    /// pages for large blocks, 4 ways, no debugging modes.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            name: "pool",
            byte_limit: usize::MAX,
            growth_factor: 1.5,
            huge_pages: true,
            poison: false,
            fresh: false,
            measure_live_bytes: false,
            warnings: true,
            ways: 4,
        }
    }

    /// Sets the pool's name in statistics and traces.
    #[must_use]
    pub const fn name(mut self, name: &'static str) -> Self {
        self.name = name;
        self
    }

    /// Sets the limit on the total bytes of the pool's blocks. Each pool has its own limit; it does
    /// not divide a device among pools.
    #[must_use]
    pub const fn byte_limit(mut self, bytes: usize) -> Self {
        self.byte_limit = bytes;
        self
    }

    /// Sets the growth factor of a block that is too small: finite and at least 1.
    ///
    /// A block always grows to the requested size at least; the factor adds room for lengths that
    /// increase slowly. Beyond 64 KiB of old capacity, a quarter of the growth is added: with 1.5,
    /// a block of 10 MiB that is slightly too small grows to 11.3 MiB.
    #[must_use]
    pub const fn growth_factor(mut self, factor: f64) -> Self {
        self.growth_factor = factor;
        self
    }

    /// Sets whether large host blocks request huge pages from the system.
    #[must_use]
    pub const fn huge_pages(mut self, on: bool) -> Self {
        self.huge_pages = on;
        self
    }

    /// Sets whether every acquire is first overwritten with 0xFF bytes, which is NaN for floats.
    /// This mode exposes code that reads elements it did not write. It costs a cold call and a fill
    /// for each acquire.
    #[must_use]
    pub const fn poison(mut self, on: bool) -> Self {
        self.poison = on;
        self
    }

    /// Sets whether every acquire gets a new block and frees the old one. This mode lets a memory
    /// checker detect raw pointers that outlived their scope. It costs an allocation for each
    /// acquire.
    #[must_use]
    pub const fn fresh(mut self, on: bool) -> Self {
        self.fresh = on;
        self
    }

    /// Sets whether the pool measures its peak of live bytes, which
    /// [`peak_live_bytes`](crate::PoolStats::peak_live_bytes) returns. It costs a cold call for
    /// each acquire. Turn it on for a few iterations, then off with
    /// [`configure`](crate::Pool::configure).
    ///
    /// ```
    /// # use pool_conformance::HeapBackend as Memory;
    /// use pool_core::{Pool, PoolConfig};
    ///
    /// let mut pool = Pool::<Memory>::with_config(Default::default(), PoolConfig::new().measure_live_bytes(true))?;
    /// for (first, second) in [(1_000, 10), (10, 1_000)] {
    ///     let scope = pool.scope();
    ///     scope.acquire::<f64, _>(first);
    ///     scope.acquire::<f64, _>(second);
    /// }
    /// let stats = pool.stats();
    /// assert_eq!(stats.peak_live_bytes, Some(1_010 * 8));
    /// // Each of the two slots has had the longer array: acquire that one first.
    /// assert!(stats.held_per_live_byte().is_some_and(|ratio| ratio > 1.9));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub const fn measure_live_bytes(mut self, on: bool) -> Self {
        self.measure_live_bytes = on;
        self
    }

    /// Sets whether a debug build reports a pool with [`REPORTED_SLOTS`](Self::REPORTED_SLOTS) slots in use at once,
    /// and a stack that grew in each of [`REPORTED_PASSES`](Self::REPORTED_PASSES) consecutive passes. On by default. A
    /// pass is a scope that begins in the pool, or the use of a thread's pool by one guard. Both are nearly always a
    /// loop without a scope of its own: each pass of the loop takes more memory. The warning names the call for which
    /// the pool grew. `pool-facade` prints it to standard error, once a pool. Release builds never warn.
    #[must_use]
    pub const fn warnings(mut self, on: bool) -> Self {
        self.warnings = on;
        self
    }

    /// Sets the number of shapes of dynamic rank that each slot caches: 1 to 16.
    ///
    /// A slot evicts shapes round robin. So a loop over one shape more than there are ways never
    /// hits: each acquire allocates a few words on the host for the shape and the backend's data
    /// beside it. No block is allocated. Set one way per shape of the loop.
    #[must_use]
    pub const fn ways(mut self, ways: usize) -> Self {
        self.ways = ways;
        self
    }

    /// Returns the byte limit.
    #[must_use]
    pub const fn limit(&self) -> usize {
        self.byte_limit
    }

    /// Returns `true` if a mode sends every acquire to the cold function.
    pub(crate) const fn arms_every_use(&self) -> bool {
        self.poison || self.fresh || self.measure_live_bytes
    }

    /// Checks every value against its range.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] for the first value out of its range.
    pub fn validate(&self) -> Result<(), ConfigError> {
        if !(1..=16).contains(&self.ways) {
            return Err(ConfigError::Ways { asked: self.ways });
        }
        if !self.growth_factor.is_finite() || self.growth_factor < 1.0 {
            return Err(ConfigError::GrowthFactor { asked: self.growth_factor });
        }
        Ok(())
    }
}

impl Default for PoolConfig {
    fn default() -> Self {
        Self::new()
    }
}

/// The rules by which `compact` swaps a block and sizes the new one.
///
/// Sampling begins with a call of `sample_lengths` or `compact`; before it, `compact` swaps
/// nothing.
///
/// A slot is judged by the lengths acquired in it since the last `compact` or `sample_lengths`, up
/// to [`SAMPLES`](Self::SAMPLES) of them. A slot without samples keeps its block.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Compaction {
    /// Swap a block that is at least this many times larger than its largest use. 10 by default.
    pub factor: f64,
    /// The size of the new block, as a multiple of the largest use. 1.5 by default.
    pub shrink_to: f64,
    /// Swap a block only if that frees at least this many bytes. 1 MiB by default.
    pub minimum_bytes: usize,
}

impl Compaction {
    /// The number of acquires of a slot that are sampled after sampling begins.
    pub const SAMPLES: u16 = 32;
}

impl Default for Compaction {
    fn default() -> Self {
        Self { factor: 10.0, shrink_to: 1.5, minimum_bytes: 1 << 20 }
    }
}
