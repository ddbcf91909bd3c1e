//! Kernels over vectors.

use bytemuck::{Pod, Zeroable};

use super::kernel::{Access, WgslKernel};

/// `y[i] = factor * x[i] + y[i]`, with two roundings or one.
///
/// Bindings: `x`, `y`. Parameters: [`AxpyParameters`]. Grid:
/// [`workgroups_over_elements`](super::workgroups_over_elements).
pub const AXPY: WgslKernel = WgslKernel {
    source: include_str!("../../wgsl/axpy.wgsl"),
    entry: "axpy",
    accesses: &[Access::Read, Access::ReadWrite],
};

/// The parameters of [`AXPY`].
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub struct AxpyParameters {
    /// The factor of each element of `x`.
    pub factor: f32,
    /// The number of elements of both vectors.
    pub count: u32,
}

const _: () = {
    assert!(size_of::<AxpyParameters>() == 8);
    assert!(std::mem::offset_of!(AxpyParameters, factor) == 0);
    assert!(std::mem::offset_of!(AxpyParameters, count) == 4);
};

/// The first half of a dot product: the sums of the workgroups' shares of the products, one each.
///
/// Bindings: `x`, `y`, and a partial sum for each workgroup. Parameters: [`DotParameters`]. Grid:
/// any number of workgroups along x. The order of the additions depends on it and on the count
/// alone; [`workgroups_over_elements`](super::workgroups_over_elements) returns a good one.
pub const DOT_PARTIAL: WgslKernel = WgslKernel {
    source: DOT,
    entry: "dot_partial",
    accesses: &[Access::Read, Access::Read, Access::ReadWrite],
};

/// The second half of a dot product: the sum of the partial sums.
///
/// Bindings: the partial sums, and one element for the total. Parameters: [`DotParameters`], with the number of partial
/// sums. Grid: one workgroup.
pub const DOT_TOTAL: WgslKernel =
    WgslKernel { source: DOT, entry: "dot_total", accesses: &[Access::Read, Access::ReadWrite] };

const DOT: &str = include_str!("../../wgsl/dot.wgsl");

/// The parameters of [`DOT_PARTIAL`] and of [`DOT_TOTAL`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct DotParameters {
    /// The number of summed elements.
    pub count: u32,
}

const _: () = assert!(size_of::<DotParameters>() == 4);
