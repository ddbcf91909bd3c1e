//! Inclusive prefix sums of any length, in several dispatches.

use bytemuck::{Pod, Zeroable};

use super::grid::workgroups;
use super::kernel::{Access, WgslKernel};

/// The elements of a block of a prefix sum.
pub const PREFIX_SUM_BLOCK: u32 = 256;

/// The inclusive prefix sums of each separate block of [`PREFIX_SUM_BLOCK`] elements, in place, and
/// the blocks' totals.
///
/// For more than one block, compute the prefix sums of the totals in the same way, and then
/// dispatch [`PREFIX_SUM_OFFSETS`].
///
/// Bindings: the elements, and a total for each block. Parameters: [`PrefixSumParameters`]. Grid:
/// [`workgroups_over_blocks`].
pub const PREFIX_SUM_BLOCKS: WgslKernel = WgslKernel {
    source: SOURCE,
    entry: "prefix_sum_blocks",
    accesses: &[Access::ReadWrite, Access::ReadWrite],
};

/// Adds to the elements of each block the prefix sum of the totals of the earlier blocks.
///
/// Bindings: the elements as [`PREFIX_SUM_BLOCKS`] leaves them, and the prefix sums of its totals. Parameters and grid
/// are those of [`PREFIX_SUM_BLOCKS`].
pub const PREFIX_SUM_OFFSETS: WgslKernel = WgslKernel {
    source: SOURCE,
    entry: "prefix_sum_offsets",
    accesses: &[Access::ReadWrite, Access::Read],
};

const SOURCE: &str = include_str!("../../wgsl/prefix_sum.wgsl");

/// The parameters of [`PREFIX_SUM_BLOCKS`] and of [`PREFIX_SUM_OFFSETS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct PrefixSumParameters {
    /// The number of elements, not of totals.
    pub count: u32,
}

const _: () = assert!(size_of::<PrefixSumParameters>() == 4);

/// Returns the workgroups for the prefix sum of `count` elements.
#[must_use]
pub const fn workgroups_over_blocks(count: u32) -> [u32; 3] {
    [workgroups(count, PREFIX_SUM_BLOCK), 1, 1]
}
