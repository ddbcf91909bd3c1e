//! Arena marks, which store an arena's state at the start of a capture. If a capture fails, the
//! mark restores the arena's earlier state. During a graph update, the mark ensures that the update
//! allocates the same regions as the capture did.

use std::ops::Deref;

use pool_core::reserve::NoHostMemory;

use super::cuda_arena::CudaArena;
use super::ledger::ArenaLedger;
use super::live_regions::LiveRegions;
use super::policy::ArenaPolicy;
use crate::source::MemorySource;

/// A copy of an arena's earlier state, or a new state without regions.
#[derive(Debug)]
pub(crate) struct ArenaMark(ArenaLedger);

/// The regions allocated since a mark was created. Dropping this value deallocates these regions
/// and returns the arena to its earlier state.
#[derive(Debug)]
#[must_use = "the regions are given back as soon as this is dropped"]
pub(crate) struct TentativeRegions<'a, M: MemorySource> {
    arena: &'a CudaArena<M>,
    before: Option<ArenaLedger>,
}

impl<M: MemorySource> CudaArena<M> {
    /// Creates a mark that stores the arena's current state.
    pub(crate) fn mark(&self) -> Result<ArenaMark, NoHostMemory> {
        Ok(ArenaMark(copy(|| self.shared().ledger.lock())?))
    }

    /// Creates a mark. New regions are placed after the bytes that were in use before the session
    /// began. This mark is suitable only for a graph that never runs concurrently with the arena's
    /// other graphs.
    pub(crate) fn mark_anew(
        &self,
        given: &ArenaMark,
        policy: ArenaPolicy,
    ) -> Result<ArenaMark, NoHostMemory> {
        let ledger = copy(|| self.shared().ledger.lock())?;
        let floor = given.0.used(ledger.resets());
        Ok(ArenaMark(ledger.anew(policy, floor)))
    }

    /// Returns the number of bytes that were in use before the session began, or 0 if the arena has
    /// been reset during the session.
    pub(crate) fn used_before(&self, given: &ArenaMark) -> u64 {
        given.0.used(self.shared().generation())
    }

    /// Restores the state that the arena had before the session began. Call this method after the
    /// session's last graph has been dropped.
    pub(crate) fn come_back(&self, given: &mut ArenaMark) {
        self.shared().ledger.lock().come_back(&mut given.0);
    }

    /// Restores the marked state so that later allocations of the same sizes receive the same
    /// regions as before. If the arena has been reset since the mark was created, this method
    /// changes nothing. The mark's owner also holds a lease that detects any reset.
    ///
    /// While the returned value exists, no other code may allocate or deallocate regions.
    pub(crate) fn begin_at(
        &self,
        mark: &ArenaMark,
    ) -> Result<TentativeRegions<'_, M>, NoHostMemory> {
        let before = Some(copy(|| self.shared().ledger.lock())?);
        let mut marked = copy(|| &mark.0)?;
        self.shared().ledger.lock().put_back(&mut marked);
        Ok(TentativeRegions { arena: self, before })
    }
}

/// Copies an arena's state. The lock is held while the state is read, but not while host memory for
/// the copy is allocated.
fn copy<B: Deref<Target = ArenaLedger>>(
    ledger: impl Fn() -> B,
) -> Result<ArenaLedger, NoHostMemory> {
    let mut room = LiveRegions::default();
    loop {
        let copied = ledger().copy(&mut room);
        match copied {
            Ok(copied) => return Ok(copied),
            Err(regions) => room = LiveRegions::with_room(regions)?,
        }
    }
}

impl<M: MemorySource> TentativeRegions<'_, M> {
    /// Ensures that dropping this value does not deallocate the regions.
    pub(crate) fn keep(mut self) {
        self.before = None;
    }
}

impl<M: MemorySource> Drop for TentativeRegions<'_, M> {
    fn drop(&mut self) {
        if let Some(before) = &mut self.before {
            self.arena.shared().ledger.lock().put_back(before);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{ArenaPlan, ArenaPolicy, CudaArena, Divergence, SyntheticMemory};

    fn arena() -> CudaArena<SyntheticMemory> {
        CudaArena::new(SyntheticMemory::new(), 4096, ArenaPolicy::Monotone).unwrap()
    }

    #[test]
    fn regions_come_again_at_the_same_places() {
        let arena = arena();
        let kept = arena.allocate(256).unwrap();
        let mark = arena.mark().unwrap();
        let tentative = arena.begin_at(&mark).unwrap();
        let first = arena.allocate(512).unwrap();
        assert_eq!(first.offset(), 256, "what lived at the mark stays");
        drop(tentative);
        assert_eq!(arena.stats().live_bytes, kept.size());
        let tentative = arena.begin_at(&mark).unwrap();
        assert_eq!(arena.allocate(512).unwrap(), first);
        tentative.keep();
        let behind = arena.allocate(256).unwrap();
        // An update allocates the same regions as the capture did, so it does not affect later
        // allocations.
        let tentative = arena.begin_at(&mark).unwrap();
        assert_eq!(arena.allocate(512).unwrap(), first);
        drop(tentative);
        assert_eq!(arena.allocate(256).unwrap().offset(), behind.offset() + 256);
    }

    #[test]
    fn a_reset_is_not_undone() {
        let arena = arena();
        let _taken = arena.allocate(256).unwrap();
        let mark = arena.mark().unwrap();
        let tentative = arena.begin_at(&mark).unwrap();
        arena.reset();
        drop(tentative);
        assert_eq!((arena.stats().resets, arena.stats().live_regions), (1, 0));
        drop(arena.begin_at(&mark).unwrap());
        assert_eq!((arena.stats().resets, arena.stats().live_regions), (1, 0));
    }

    #[test]
    fn foreign_returns_are_counted_for_ever() {
        let arena = arena();
        let tentative = arena.begin_at(&arena.mark().unwrap()).unwrap();
        let _foreign = arena.deallocate(8);
        drop(tentative);
        assert_eq!(arena.stats().foreign_deallocations, 1);
    }

    #[test]
    fn anew_has_another_policy_and_no_region() {
        let arena = arena();
        let given = arena.mark().unwrap();
        let _taken = arena.allocate(256).unwrap();
        let mark = arena.mark_anew(&given, ArenaPolicy::Linear).unwrap();
        assert_eq!(arena.stats().live_regions, 1, "a mark changes nothing");
        arena.begin_at(&mark).unwrap().keep();
        assert!(arena.rewinds());
        assert_eq!(arena.allocate(256).unwrap().offset(), 0);
    }

    #[test]
    fn anew_begins_behind_what_lived_when_the_arena_was_given_away() {
        let plan = ArenaPlan::new(&[0, 256, 0], [256, 256, 512].into_iter(), 512).unwrap();
        let planned = ArenaPolicy::Planned(plan.on_divergence(Divergence::FreshBytes));
        for policy in [ArenaPolicy::Monotone, ArenaPolicy::Linear, planned] {
            let arena = arena();
            let living = arena.allocate(512).unwrap();
            let mut given = arena.mark().unwrap();
            let _of_a_graph = arena.allocate(1024).unwrap();
            let mark = arena.mark_anew(&given, policy.clone()).unwrap();
            arena.begin_at(&mark).unwrap().keep();
            let first = arena.allocate(256).unwrap();
            let second = arena.allocate(256).unwrap();
            assert_eq!((first.offset(), second.offset()), (512, 768), "{policy:?}");
            let _ended = arena.deallocate(second.address());
            let _ended = arena.deallocate(first.address());
            assert!(arena.allocate(512).unwrap().offset() >= 512, "{policy:?}");
            assert!(arena.allocate(256).unwrap().offset() >= 1024, "{policy:?}");
            arena.come_back(&mut given);
            assert_eq!(arena.stats().live_bytes, 512);
            assert_eq!(arena.allocate(256).unwrap().offset(), 512, "{policy:?}");
            let _ended = arena.deallocate(living.address());
        }
    }

    #[test]
    fn an_arena_that_was_reset_comes_back_with_its_policy() {
        let arena = arena();
        let _taken = arena.allocate(256).unwrap();
        let mut given = arena.mark().unwrap();
        let mark = arena.mark_anew(&given, ArenaPolicy::Linear).unwrap();
        arena.begin_at(&mark).unwrap().keep();
        arena.reset();
        assert_eq!(arena.used_before(&given), 0, "a reset ends what lived then");
        arena.come_back(&mut given);
        assert!(!arena.rewinds());
        assert_eq!(arena.allocate(256).unwrap().offset(), 0);
    }
}
