//! Assigns each pool an identity that is unique within the process and is never reused. The counter
//! is a machine word because some targets do not have 64-bit atomics.

use core::sync::atomic::{AtomicUsize, Ordering};

/// The identity of the next pool. The largest `usize` value is never used as an identity.
static NEXT: AtomicUsize = AtomicUsize::new(1);

/// Returns an identity that no other pool has ever had. Returns `None` if the process has used up
/// all identities.
pub(crate) fn next_identity() -> Option<u64> {
    take(&NEXT)
}

fn take(next: &AtomicUsize) -> Option<u64> {
    let step = |identity: usize| identity.checked_add(1);
    let identity = next.fetch_update(Ordering::Relaxed, Ordering::Relaxed, step).ok()?;
    u64::try_from(identity).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identities_end_and_do_not_begin_anew() {
        let next = AtomicUsize::new(usize::MAX - 2);
        let last = u64::try_from(usize::MAX - 1).ok();
        assert_eq!((take(&next), take(&next)), (last.map(|last| last - 1), last));
        assert_eq!((take(&next), take(&next)), (None, None));
        assert!(next_identity() < next_identity());
    }
}
