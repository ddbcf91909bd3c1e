//! Validation of a lower bound. The bound is computed from the sizes of buffers that must not share
//! any bytes.
//!
//! Buffers that must not share any bytes must lie one above another. If every buffer in a set is
//! aligned to at least `a` bytes, each one except the topmost is padded to a multiple of `a`.
//! Together, buffers that must not share any bytes therefore need the sum of their padded sizes,
//! minus the largest padding. A lower bound is computed for each alignment, from the buffers that
//! have at least that alignment.

/// The size, alignment, and fixed offset of a buffer that belongs to a witness.
#[derive(Clone, Copy)]
pub(super) struct Witnessed {
    pub(super) size: u64,
    pub(super) alignment: u64,
    pub(super) fixed: Option<u64>,
}

/// Returns the number of bytes that the buffers need if no two of them may share bytes. No sum
/// overflows, because the sizes were checked when the problem was created.
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
