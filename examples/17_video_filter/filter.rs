//! The parts that both methods of filtering share: the kernels and their parameters, the weights of
//! the blur, and the cost of a frame.

use std::error::Error;
use std::time::Duration;

use bytemuck::{Pod, Zeroable};
use pool_kernels::wgsl::{
    Access, CONVOLVE_COLUMNS, CONVOLVE_ROWS, ConvolutionParameters, WgslKernel,
    workgroups_over_elements, workgroups_over_plane,
};

/// The number of pixels on each side that the blur includes.
const RADIUS: u32 = 4;
/// The standard deviation of the blur, in pixels.
const DEVIATION: f32 = 1.8;

const UNPACK: WgslKernel = kernel("unpack", &[Access::Read, Access::ReadWrite]);
const SHARPEN: WgslKernel = kernel("sharpen", &[Access::Read, Access::Read, Access::ReadWrite]);
const GRADIENT: WgslKernel = kernel("gradient", &[Access::Read, Access::ReadWrite]);
const COMPOSITE: WgslKernel = kernel("composite", &[Access::Read, Access::Read, Access::ReadWrite]);

const fn kernel(entry: &'static str, accesses: &'static [Access]) -> WgslKernel {
    WgslKernel { source: include_str!("filter.wgsl"), entry, accesses }
}

/// The kernels, in the order in which they process a frame.
pub(crate) const KERNELS: [WgslKernel; 6] =
    [UNPACK, CONVOLVE_ROWS, CONVOLVE_COLUMNS, SHARPEN, GRADIENT, COMPOSITE];

/// The parameters of the kernels in `filter.wgsl`.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct FilterParameters {
    width: u32,
    height: u32,
    amount: f32,
    threshold: f32,
}

const _: () = assert!(size_of::<FilterParameters>() == 16);

/// A filter for frames of one size.
#[derive(Clone, Debug)]
pub(crate) struct Filter {
    size: u32,
    /// The weights of the blur along rows and along columns.
    pub(crate) weights: Vec<f32>,
    pub(crate) parameters: FilterParameters,
    pub(crate) blur: ConvolutionParameters,
}

impl Filter {
    /// Creates a filter for frames with `size` pixels along each side.
    pub(crate) fn new(size: u32) -> Self {
        let offsets = (0..=2 * RADIUS).map(|place| place as f32 - RADIUS as f32);
        let bells = offsets.map(|offset| (-0.5 * (offset / DEVIATION).powi(2)).exp());
        let total: f32 = bells.clone().sum();
        Self {
            size,
            weights: bells.map(|bell| bell / total).collect(),
            parameters: FilterParameters { width: size, height: size, amount: 1.5, threshold: 0.5 },
            blur: ConvolutionParameters { width: size, height: size, radius: RADIUS },
        }
    }

    /// Returns the number of pixels in a frame.
    pub(crate) fn pixels(&self) -> usize {
        self.size as usize * self.size as usize
    }

    /// Returns the number of workgroups for each of the [`KERNELS`].
    pub(crate) fn workgroups(&self) -> [[u32; 3]; KERNELS.len()] {
        let pixels = self.size * self.size;
        let (line, plane) =
            (workgroups_over_elements(pixels), workgroups_over_plane(self.size, self.size));
        [workgroups_over_elements(pixels / 4), plane, plane, line, plane, line]
    }
}

/// The result of filtering one frame.
#[derive(Debug)]
pub(crate) struct Filtered {
    /// The thread's CPU time from receiving the frame's bytes until all of the frame's work has
    /// been submitted.
    pub(crate) host_time: Duration,
    /// The picture, with one word per pixel, if it was requested.
    pub(crate) picture: Option<Vec<u32>>,
}

/// A method of filtering frames.
pub(crate) trait FilterMethod {
    /// Returns the name of the method in the report.
    fn name(&self) -> &'static str;

    /// Filters a frame, and reads the picture back if it is requested.
    fn filter(&mut self, frame: &[u8], wants_picture: bool) -> Result<Filtered, Box<dyn Error>>;

    /// Returns the numbers of storage buffers and bind groups created so far.
    fn created(&self) -> [u64; 2];
}
