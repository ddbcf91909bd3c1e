//! Defines debugging modes that apply to every pool in the process, in addition to each pool's own
//! configuration.

use core::sync::atomic::{AtomicU8, Ordering};

use crate::config::PoolConfig;

/// Debugging modes for the whole process, which each pool combines with the modes in its own
/// [`PoolConfig`].
///
/// ```
/// use pool_core::MemoryChecks;
/// let checks = MemoryChecks::new().poison(true);
/// assert!(checks.poisons() && !checks.is_fresh());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryChecks {
    poison: bool,
    fresh: bool,
}

const POISON: u8 = 1;
const FRESH: u8 = 2;

static CHECKS: AtomicU8 = AtomicU8::new(0);

impl MemoryChecks {
    /// Returns a value that disables all debugging modes.
    #[must_use]
    pub const fn new() -> Self {
        Self { poison: false, fresh: false }
    }

    /// Sets whether pools overwrite newly acquired memory with 0xFF bytes (see
    /// [`PoolConfig::poison`]).
    #[must_use]
    pub const fn poison(mut self, on: bool) -> Self {
        self.poison = on;
        self
    }

    /// Sets whether pools allocate a new block for every acquired array (see
    /// [`PoolConfig::fresh`]).
    #[must_use]
    pub const fn fresh(mut self, on: bool) -> Self {
        self.fresh = on;
        self
    }

    /// Returns `true` if pools overwrite newly acquired memory with 0xFF bytes.
    #[must_use]
    pub const fn poisons(&self) -> bool {
        self.poison
    }

    /// Returns `true` if pools allocate a new block for every acquired array.
    #[must_use]
    pub const fn is_fresh(&self) -> bool {
        self.fresh
    }

    /// Returns the debugging modes that are currently set for the process.
    #[must_use]
    pub fn of_process() -> Self {
        let bits = CHECKS.load(Ordering::Relaxed);
        Self { poison: bits & POISON != 0, fresh: bits & FRESH != 0 }
    }

    /// Sets the debugging modes for all pools that are created or reconfigured after this call.
    pub fn set_for_process(self) {
        let bits = u8::from(self.poison) * POISON + u8::from(self.fresh) * FRESH;
        CHECKS.store(bits, Ordering::Relaxed);
    }

    /// Adds the process-wide debugging modes to a pool's configuration and returns the result.
    pub(crate) fn applied_to(mut config: PoolConfig) -> PoolConfig {
        let checks = Self::of_process();
        config.poison |= checks.poison;
        config.fresh |= checks.fresh;
        config
    }
}
