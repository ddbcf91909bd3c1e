//! Kernels over planes: each point from those around it.

use bytemuck::{Pod, Zeroable};

use super::kernel::{Access, WgslKernel};

/// `to = centre * from + neighbour * (left + right + upper + lower)`; zeros surround the plane.
///
/// Bindings: `from`, `to`, of `width * height` elements each. Parameters: [`StencilParameters`]. Grid:
/// [`workgroups_over_plane`](super::workgroups_over_plane).
pub const STENCIL: WgslKernel = WgslKernel {
    source: include_str!("../../wgsl/stencil.wgsl"),
    entry: "stencil",
    accesses: &[Access::Read, Access::ReadWrite],
};

/// The parameters of [`STENCIL`].
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub struct StencilParameters {
    /// The columns of the plane.
    pub width: u32,
    /// The rows of the plane.
    pub height: u32,
    /// The weight of the point itself.
    pub centre: f32,
    /// The weight of each of its four neighbours.
    pub neighbour: f32,
}

const _: () = {
    assert!(size_of::<StencilParameters>() == 16);
    assert!(std::mem::offset_of!(StencilParameters, width) == 0);
    assert!(std::mem::offset_of!(StencilParameters, height) == 4);
    assert!(std::mem::offset_of!(StencilParameters, centre) == 8);
    assert!(std::mem::offset_of!(StencilParameters, neighbour) == 12);
};

/// The weighted sum over a square of `2 * radius + 1` rows and columns around each point. Outside
/// the plane, the nearest point's value counts. The weights are not mirrored.
///
/// Bindings: `from`, `weights`, `to`. Parameters: [`ConvolutionParameters`]. Grid:
/// [`workgroups_over_plane`](super::workgroups_over_plane).
pub const CONVOLVE: WgslKernel = convolution("convolve");

/// Same as [`CONVOLVE`], with `2 * radius + 1` weights along the rows alone.
pub const CONVOLVE_ROWS: WgslKernel = convolution("convolve_rows");

/// Same as [`CONVOLVE`], with `2 * radius + 1` weights along the columns alone.
pub const CONVOLVE_COLUMNS: WgslKernel = convolution("convolve_columns");

const fn convolution(entry: &'static str) -> WgslKernel {
    WgslKernel {
        source: include_str!("../../wgsl/convolution.wgsl"),
        entry,
        accesses: &[Access::Read, Access::Read, Access::ReadWrite],
    }
}

/// The parameters of [`CONVOLVE`], [`CONVOLVE_ROWS`] and [`CONVOLVE_COLUMNS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct ConvolutionParameters {
    /// The columns of the plane.
    pub width: u32,
    /// The rows of the plane.
    pub height: u32,
    /// The number of weighted points to each side.
    pub radius: u32,
}

const _: () = {
    assert!(size_of::<ConvolutionParameters>() == 12);
    assert!(std::mem::offset_of!(ConvolutionParameters, width) == 0);
    assert!(std::mem::offset_of!(ConvolutionParameters, height) == 4);
    assert!(std::mem::offset_of!(ConvolutionParameters, radius) == 8);
};
