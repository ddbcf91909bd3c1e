//! The integer steps, which precede the flow, on a wgpu device. Their temporaries come from a scope
//! of the device's pool. Decoding, the flow and the composition stay on the host, with temporaries
//! from the thread's pool.

use bytemuck::Pod;
use pool_facade::prelude::*;
use pool_wgpu::{Access, BufferViewMut, Kernel, Stream, Wgpu, wgpu};

use crate::Failure;
use crate::camera::{Camera, LEVELS};
use crate::frame::{decode, show};
use crate::scratch::Scratch;
use crate::size::Size;

/// The number of threads per workgroup, the same as in the kernels.
const WIDTH: usize = 64;
/// The maximum number of workgroups. Each workgroup then processes several groups of pixels.
const GROUPS: usize = 4_096;

/// The kernels and the pool of a device.
#[derive(Debug)]
pub struct OnWgpu {
    kernels: Kernels,
    pool: Pool<Wgpu>,
}

#[derive(Debug)]
struct Kernels {
    medians: Kernel,
    greys: Kernel,
    halve_rows: Kernel,
    halve_columns: Kernel,
    steepness: Kernel,
    ridges: Kernel,
}

type Plane<'s> = (Size, BufferViewMut<'s, u32>);

impl OnWgpu {
    /// Opens the available adapter.
    ///
    /// # Errors
    ///
    /// Fails if there is no adapter, or if the adapter rejects the kernels.
    pub fn open() -> Result<Self, Failure> {
        let stream = Stream::open()?;
        let kernel = |entry| {
            let accesses = [Access::Read, Access::ReadWrite];
            stream.kernel(include_str!("on_wgpu.wgsl"), entry, &accesses)
        };
        let kernels = Kernels {
            medians: kernel("medians")?,
            greys: kernel("greys")?,
            halve_rows: kernel("halve_rows")?,
            halve_columns: kernel("halve_columns")?,
            steepness: kernel("steepness")?,
            ridges: kernel("ridges")?,
        };
        let pool = Pool::new(stream);
        Ok(Self { kernels, pool })
    }

    /// Processes one frame, and stores the result in the camera's picture.
    ///
    /// # Errors
    ///
    /// Fails if the bytes are not a frame of the camera's size, or if the device fails.
    pub fn frame(&mut self, encoded: &[u8], camera: &mut Camera) -> Result<(), Failure> {
        let size = camera.size();
        let mut host = local::<Cpu>();
        let mut host = host.scope();
        let raw = host.take::<u8>(3 * size.pixels());
        decode(encoded, size, raw)?;

        let Kernels { medians, greys, halve_rows, halve_columns, steepness, ridges } =
            &self.kernels;
        let scope = self.pool.scope();
        let raw = scope.try_acquire_from(&*raw)?;
        let clean = step(&scope, medians, (size, &raw), size)?;
        let mut levels = vec![step(&scope, greys, (size, &clean.1), size)?];
        for level in 1..LEVELS {
            let (larger, from) = &levels[level - 1];
            let rows = Size { width: larger.width / 2, ..*larger };
            let rows = step(&scope, halve_rows, (*larger, from), rows)?;
            levels.push(step(&scope, halve_columns, (rows.0, &rows.1), larger.halved(1))?);
        }
        let steep = step(&scope, steepness, (size, &levels[0].1), size)?;
        let marks = step(&scope, ridges, (size, &steep.1), size)?;

        // All reads are enqueued before the first one is awaited.
        let (clean, marks) = (clean.1.read()?, marks.1.read()?);
        let levels = levels.iter().map(|(_, greys)| greys.read()).collect::<Result<Vec<_>, _>>()?;
        let clean_pixels = host.take::<u8>(3 * size.pixels());
        for (out, pixel) in clean_pixels.chunks_exact_mut(3).zip(clean.wait()?) {
            out.copy_from_slice(&pixel.to_le_bytes()[..3]);
        }
        for (to, from) in camera.now.iter_mut().zip(levels) {
            narrow(&from.wait()?, &mut to.pixels);
        }
        let mark_bytes = host.take::<u8>(size.pixels());
        narrow(&marks.wait()?, mark_bytes);
        show(&mut host, camera, clean_pixels, mark_bytes);
        Ok(())
    }
}

/// Returns the name of the adapter, and whether it is a CPU. Compiles no kernels, because a
/// rejected kernel does not mean that the adapter is missing.
///
/// # Errors
///
/// Fails if there is no adapter.
pub fn adapter() -> Result<String, Failure> {
    let stream = Stream::open()?;
    let adapter = stream.device().adapter_info();
    let is_processor = adapter.device_type == wgpu::DeviceType::Cpu;
    Ok(format!("{}, {}", adapter.name, if is_processor { "a processor" } else { "a device" }))
}

/// Records a kernel that computes one plane from another.
fn step<'s, T: Pod>(
    scope: &Scope<'s, Wgpu>,
    kernel: &Kernel,
    (from_size, from): (Size, &BufferViewMut<'s, T>),
    size: Size,
) -> Result<Plane<'s>, Failure> {
    let mut to = scope.try_acquire::<u32, _>(size.pixels())?;
    let sizes = [from_size.width, from_size.height, size.width, size.height].map(u32::try_from);
    let [a, b, c, d] = sizes;
    let parameters = [a?, b?, c?, d?];
    let groups = u32::try_from(size.pixels().div_ceil(WIDTH).min(GROUPS))?;
    let bindings = [from.binding()?, to.binding_mut()?];
    scope.context().dispatch(kernel, &bindings, bytemuck::bytes_of(&parameters), [groups, 1, 1])?;
    Ok((size, to))
}

/// Converts numbers to a narrower type. All of them must fit.
fn narrow<T: TryFrom<u32> + Default>(from: &[u32], to: &mut [T]) {
    for (to, from) in to.iter_mut().zip(from) {
        *to = T::try_from(*from).unwrap_or_default();
    }
}
