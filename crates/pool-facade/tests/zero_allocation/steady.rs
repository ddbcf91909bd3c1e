//! The meaning of steady state: after two passes through the same code, no further pass calls the
//! allocator, in either direction.

use crate::counting::Calls;

/// Passes that are measured.
pub(crate) const PASSES: usize = if cfg!(miri) { 3 } else { 2000 };

/// Passes before: the first makes pools and blocks, the second sees them all grown.
const WARM_UP: usize = 2;

/// Runs `pass` until it is warm, then holds that a thousand passes and more never call the allocator.
///
/// A warm-up without an allocation would mean that nothing was measured: the pass has to be the first
/// use of its pool.
#[track_caller]
pub(crate) fn never_allocates(mut pass: impl FnMut()) {
    let before = Calls::so_far();
    for _ in 0..WARM_UP {
        pass();
    }
    assert!(Calls::since(before).allocations > 0, "a first pass allocates");
    stays_warm(pass);
}

/// Does the same as [`never_allocates`], of code that is warm already.
#[track_caller]
pub(crate) fn stays_warm(mut pass: impl FnMut()) {
    let before = Calls::so_far();
    for _ in 0..PASSES {
        pass();
    }
    assert_eq!(Calls::since(before), Calls { allocations: 0, frees: 0 }, "over {PASSES} passes");
}

/// A pass that allocates is detected, even if it is a single one.
#[test]
#[should_panic(expected = "over")]
fn one_allocation_is_seen() {
    let mut passes = 0;
    never_allocates(|| {
        passes += 1;
        if passes < 3 || passes == PASSES {
            std::hint::black_box(Box::new(passes));
        }
    });
}

#[test]
#[should_panic(expected = "a first pass allocates")]
fn measuring_nothing_is_seen() {
    never_allocates(|| {});
}
