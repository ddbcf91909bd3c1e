//! Validation of a bound: the bytes of buffers that share none with each other.
//!
//! Buffers that share no bytes lie one above the other. If their offsets are multiples of a granule, padding follows
//! each except the topmost. So they need their padded sizes together, less the largest padding: for each alignment,
//! those buffers that have it or a larger one.

/// The size, alignment and fixed offset of a buffer of the witness.
#[derive(Clone, Copy)]
pub(super) struct Witnessed {
    pub(super) size: u64,
    pub(super) alignment: u64,
    pub(super) fixed: Option<u64>,
}

/// Returns the bytes that buffers need if no two may share any. The problem was checked: no sum overflows.
pub(super) fn bytes(buffers: &[Witnessed]) -> u64 {
    let mut granules: Vec<u64> = buffers.iter().map(|one| one.alignment).chain([1]).collect();
    granules.sort_unstable();
    granules.dedup();
    let of_granule = |granule: u64| {
        let on_grid = buffers.iter().filter(|one| one.size > 0 && one.alignment >= granule);
        let (mut sum, mut topmost) = (0_u64, 0);
        for one in on_grid {
            let padded = one.size.next_multiple_of(granule);
            sum += padded;
            topmost = topmost.max(padded - one.size);
        }
        sum - topmost
    };
    let tops = buffers.iter().filter_map(|one| one.fixed?.checked_add(one.size));
    granules.into_iter().map(of_granule).chain(tops).max().unwrap_or(0)
}
