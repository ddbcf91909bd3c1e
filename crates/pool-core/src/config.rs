//! Defines a pool's configuration, which includes its byte limit, its growth factor, and its
//! debugging modes.

use crate::error::ConfigError;

/// The configuration of one pool. Each of `PoolConfig`'s builder methods changes one value and
/// leaves all others unchanged.
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
    /// The number of slots at which a pool emits its first warning, if the `tracing` feature is
    /// enabled. After the first warning, the pool emits another one each time its number of slots
    /// doubles.
    pub const WARNING_SLOTS: usize = 512;

    /// The number of handed-out slots at which a debug build warns about a pool. A debug build
    /// warns about each pool at most once (see [`warnings`](Self::warnings)).
    pub const REPORTED_SLOTS: usize = 4096;

    /// The number of consecutive passes in which a stack must grow before a debug build warns about
    /// it. A debug build warns about each pool at most once (see [`warnings`](Self::warnings)).
    pub const REPORTED_PASSES: usize = 64;

    /// Returns the default configuration. By default, a pool has no size limit and no debugging
    /// modes. Its growth factor is 1.5 (less for large blocks), it requests huge pages for large
    /// blocks, and it caches 4 shapes per slot.
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

    /// Sets the name that identifies the pool in statistics and traces.
    #[must_use]
    pub const fn name(mut self, name: &'static str) -> Self {
        self.name = name;
        self
    }

    /// Sets an upper limit, in bytes, on the total size of the pool's blocks. Each pool's limit
    /// applies only to that pool. Setting a limit does not reserve a share of the device's memory
    /// for the pool.
    #[must_use]
    pub const fn byte_limit(mut self, bytes: usize) -> Self {
        self.byte_limit = bytes;
        self
    }

    /// Sets the factor by which the pool enlarges a block that is too small. The growth factor must
    /// be finite and at least 1.
    ///
    /// A block always grows to at least the requested size. The growth factor provides extra
    /// capacity for lengths that increase slowly over time. If the old capacity exceeds 64 KiB, the
    /// pool adds only a quarter of the extra capacity that the growth factor specifies. For
    /// example, with a factor of 1.5, a block of 10 MiB that is slightly too small grows to 11.3
    /// MiB.
    #[must_use]
    pub const fn growth_factor(mut self, factor: f64) -> Self {
        self.growth_factor = factor;
        self
    }

    /// Sets whether the pool requests huge pages from the operating system for large host blocks.
    #[must_use]
    pub const fn huge_pages(mut self, on: bool) -> Self {
        self.huge_pages = on;
        self
    }

    /// Sets whether the pool overwrites newly acquired memory with 0xFF bytes before handing it
    /// out. These bytes represent NaN in every floating-point type. Poisoning the memory exposes
    /// code that reads elements before writing them. With poisoning enabled, each acquire method
    /// also calls a cold function that fills the memory.
    #[must_use]
    pub const fn poison(mut self, on: bool) -> Self {
        self.poison = on;
        self
    }

    /// Sets whether the pool allocates a new block for every acquired array and frees the slot's
    /// previous block. Fresh blocks allow a memory checker to detect raw pointers that are used
    /// after their scope has ended. With fresh blocks, the pool performs an additional allocation
    /// for each acquired array.
    #[must_use]
    pub const fn fresh(mut self, on: bool) -> Self {
        self.fresh = on;
        self
    }

    /// Sets whether the pool measures its peak number of live bytes (see
    /// [`peak_live_bytes`](crate::PoolStats::peak_live_bytes)). While the measurement is enabled,
    /// each acquire method calls a cold function. Enable the measurement for a few iterations and
    /// then disable it with [`configure`](crate::Pool::configure).
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

    /// Sets whether a debug build prints warnings about pools. A debug build warns if a pool has
    /// handed out [`REPORTED_SLOTS`](Self::REPORTED_SLOTS) slots at the same time. A debug build
    /// also warns if a stack grew in each of [`REPORTED_PASSES`](Self::REPORTED_PASSES) consecutive
    /// passes. Warnings are enabled by default. A pass is either the lifetime of a scope opened
    /// directly from the pool, or the time for which one guard owns a thread's pool. The usual
    /// cause of a warning is a loop that acquires more memory in each iteration because it does not
    /// open a scope. The warning states which call made the pool grow. The `pool-facade` crate
    /// prints the warning to standard error, once per pool. Release builds never print warnings.
    #[must_use]
    pub const fn warnings(mut self, on: bool) -> Self {
        self.warnings = on;
        self
    }

    /// Sets the number of shapes of dynamic rank that each slot caches. The number of cached shapes
    /// must be between 1 and 16.
    ///
    /// A slot evicts its cached shapes in round-robin order. If a loop uses one more shape than a
    /// slot can cache, every lookup misses the cache. Each miss allocates a few words of host
    /// memory for the shape and the backend's data. However, a miss in the shape cache does not
    /// allocate a block. For a loop that uses many shapes, set this value to at least the number of
    /// shapes in the loop.
    #[must_use]
    pub const fn ways(mut self, ways: usize) -> Self {
        self.ways = ways;
        self
    }

    /// Returns the pool's byte limit.
    #[must_use]
    pub const fn limit(&self) -> usize {
        self.byte_limit
    }

    /// Returns `true` if an enabled debugging mode makes all acquire methods call the cold
    /// function.
    pub(crate) const fn arms_every_use(&self) -> bool {
        self.poison || self.fresh || self.measure_live_bytes
    }

    /// Checks that every value is within its valid range.
    ///
    /// # Errors
    ///
    /// Returns [`ConfigError`] for the first value that is out of range.
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

/// The rules that determine which blocks `compact` replaces and how large the new blocks are.
///
/// Sampling starts when `sample_lengths` or `compact` is called for the first time. Before sampling
/// has started, `compact` does not replace any blocks.
///
/// For each slot, `compact` considers the lengths of the arrays acquired since the last call to
/// `compact` or `sample_lengths`. At most [`SAMPLES`](Self::SAMPLES) lengths are considered for
/// each slot. If no lengths were sampled for a slot, the slot retains its block.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Compaction {
    /// The multiple of the largest sampled size at or above which a block is replaced. The default
    /// is 10.
    pub factor: f64,
    /// The size of the new block, as a multiple of the largest sampled size. The default is 1.5.
    pub shrink_to: f64,
    /// The minimum number of bytes that replacing a block must free. The default is 1 MiB.
    pub minimum_bytes: usize,
}

impl Compaction {
    /// The maximum number of lengths sampled for each slot.
    pub const SAMPLES: u16 = 32;
}

impl Default for Compaction {
    fn default() -> Self {
        Self { factor: 10.0, shrink_to: 1.5, minimum_bytes: 1 << 20 }
    }
}
