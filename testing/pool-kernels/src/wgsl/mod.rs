//! Kernels in WGSL, for wgpu: their texts, bindings, parameters and numbers of workgroups.
//!
//! A kernel has its storage in group 0, in the order of its [`accesses`](WgslKernel::accesses), and
//! its parameters in a uniform, binding 0 of group 1. Elements are `f32`, planes row-major, counts
//! at most 2³¹. A grid of at least one workgroup affects speed alone. The exceptions are
//! [`DOT_PARTIAL`] and [`DOT_TOTAL`].
//!
//! ```
//! use pool_kernels::wgsl::{AXPY, Access, AxpyParameters, workgroups_over_elements};
//!
//! assert_eq!((AXPY.entry, AXPY.accesses), ("axpy", &[Access::Read, Access::ReadWrite][..]));
//! let parameters = AxpyParameters { factor: 0.5, count: 1_000 };
//! assert_eq!(bytemuck::bytes_of(&parameters).len(), 8);
//! assert_eq!(workgroups_over_elements(1_000), [16, 1, 1]);
//! ```

mod grid;
mod kernel;
mod plane;
mod prefix_sum;
mod vector;

pub use grid::{workgroups_over_elements, workgroups_over_plane};
pub use kernel::{Access, WgslKernel};
pub use plane::{
    CONVOLVE, CONVOLVE_COLUMNS, CONVOLVE_ROWS, ConvolutionParameters, STENCIL, StencilParameters,
};
pub use prefix_sum::{
    PREFIX_SUM_BLOCK, PREFIX_SUM_BLOCKS, PREFIX_SUM_OFFSETS, PrefixSumParameters,
    workgroups_over_blocks,
};
pub use vector::{AXPY, AxpyParameters, DOT_PARTIAL, DOT_TOTAL, DotParameters};

/// All kernels in WGSL.
pub const KERNELS: [WgslKernel; 9] = [
    AXPY,
    DOT_PARTIAL,
    DOT_TOTAL,
    STENCIL,
    CONVOLVE,
    CONVOLVE_ROWS,
    CONVOLVE_COLUMNS,
    PREFIX_SUM_BLOCKS,
    PREFIX_SUM_OFFSETS,
];
