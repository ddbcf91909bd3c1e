//! Which of the idle blocks an acquire gets where the configuration asks for the one that fits best.

use core::cmp::Reverse;
use core::mem;

use super::slot::SlotPointer;
use crate::backend::PoolBackend;

/// How well a block of `bytes` bytes serves an acquire of `needed` bytes, the least first: the smallest block that is
/// large enough, else the largest, which then grows by the least.
fn misfit(bytes: usize, needed: usize) -> (bool, usize, Reverse<usize>) {
    let is_too_small = bytes < needed;
    if is_too_small { (true, 0, Reverse(bytes)) } else { (false, bytes, Reverse(0)) }
}

/// Exchanges the slot's block for that of the idle slot whose block fits `needed` bytes best. The slots from number
/// `idle_from` on are idle. What was sampled goes with the block, because a slot has another one at each use.
///
/// Nothing of the backend runs, and nothing can fail.
///
/// # Safety
///
/// Nothing views the slot's block, and the slots from `idle_from` on are idle.
pub(super) unsafe fn take_best_fit<B: PoolBackend>(
    slot: SlotPointer<'_, B>,
    idle_from: usize,
    needed: usize,
) {
    // SAFETY: the records are live, and nothing else holds a reference to them while it is read.
    let bytes = |slot: &SlotPointer<'_, B>| unsafe { (*slot.record().as_ptr()).real };
    // Its own block first: a slot whose block is as good as another keeps it.
    let (mut best, mut least) = (slot, misfit(bytes(&slot), needed));
    // A slot that was never handed out has no block.
    let first = idle_from.max(slot.number() + 1);
    let most = slot.state().high_water().saturating_sub(first);
    for other in slot.state().slots_from(first).take(most) {
        let fit = misfit(bytes(&other), needed);
        if fit < least {
            (best, least) = (other, fit);
        }
    }
    if best.number() == slot.number() {
        return;
    }
    // SAFETY: nothing views either block (caller), no handle has them, and nothing borrowed from their shape sets is in
    // use.
    unsafe { slot.exchange_blocks(best) };
    // SAFETY: the records are live and distinct, and nothing else holds a reference to them.
    let own = unsafe { slot.record().as_mut() };
    // SAFETY: as above.
    let others = unsafe { best.record().as_mut() };
    mem::swap(&mut own.largest_sample, &mut others.largest_sample);
    mem::swap(&mut own.samples_left, &mut others.samples_left);
    mem::swap(&mut own.samples_seen, &mut others.samples_seen);
}

#[cfg(test)]
mod tests {
    use super::misfit;

    #[test]
    fn the_smallest_that_is_large_enough_else_the_largest() {
        let best = |blocks: &[usize], needed| {
            blocks.iter().copied().min_by_key(|&bytes| misfit(bytes, needed)).unwrap()
        };
        assert_eq!(best(&[64, 256, 128, 192], 100), 128);
        assert_eq!(best(&[64, 256, 128], 256), 256);
        assert_eq!(best(&[64, 0, 192, 128], 193), 192);
        assert_eq!(best(&[0, 0], 1), 0);
    }
}
