//! Frames with a pool: each frame opens a scope, which reuses the memory and the bind groups of the
//! previous frame.

use std::error::Error;

use bytemuck::bytes_of;
use pool_core::{Pool, PoolView};
use pool_kernels::wgsl::{Access, WgslKernel};
use pool_wgpu::{BufferView, Kernel, Stream, Wgpu, WgpuError};

use crate::clock::processor_time;
use crate::filter::{Filter, FilterMethod, Filtered, KERNELS};

/// The filter, with a pool.
pub(crate) struct Pooled<'c> {
    filter: Filter,
    stream: Stream,
    kernels: Vec<Kernel>,
    /// The weights of the blur, which live as long as the filter, in a separate pool.
    weights: BufferView<'c, f32>,
    pool: Pool<Wgpu>,
}

impl<'c> Pooled<'c> {
    /// Creates the filter on a stream. The constants come from a pool on the same stream.
    pub(crate) fn new(
        filter: &Filter,
        stream: &Stream,
        constants: &'c mut Pool<Wgpu>,
    ) -> Result<Self, Box<dyn Error>> {
        let kernels = KERNELS.iter().map(|kernel| compile(stream, kernel));
        Ok(Self {
            filter: filter.clone(),
            stream: stream.clone(),
            kernels: kernels.collect::<Result<_, _>>()?,
            weights: constants.scope().try_acquire_from(&filter.weights)?.into_view(),
            pool: Pool::new(stream.clone()),
        })
    }
}

impl FilterMethod for Pooled<'_> {
    fn name(&self) -> &'static str {
        "pool, a scope a frame"
    }

    fn filter(&mut self, frame: &[u8], wants_picture: bool) -> Result<Filtered, Box<dyn Error>> {
        let Self { filter, stream, kernels, weights, pool } = self;
        let start = processor_time();
        let (parameters, blur) = (bytes_of(&filter.parameters), bytes_of(&filter.blur));
        let [unpack, rows, columns, sharpen, gradient, composite] = &kernels[..] else {
            return Err("a kernel is missing".into());
        };
        let workgroups = filter.workgroups();

        let scope = pool.scope();
        let words = scope.try_acquire_from(frame)?;
        let plane = || scope.try_acquire::<f32, _>(filter.pixels());
        let mut grey = plane()?;
        let bindings = [words.binding()?, grey.binding_mut()?];
        stream.dispatch(unpack, &bindings, parameters, workgroups[0])?;

        let mut half_blurred = plane()?;
        let bindings = [grey.binding()?, weights.binding()?, half_blurred.binding_mut()?];
        stream.dispatch(rows, &bindings, blur, workgroups[1])?;
        let mut blurred = plane()?;
        let bindings = [half_blurred.binding()?, weights.binding()?, blurred.binding_mut()?];
        stream.dispatch(columns, &bindings, blur, workgroups[2])?;

        let mut sharp = plane()?;
        let bindings = [grey.binding()?, blurred.binding()?, sharp.binding_mut()?];
        stream.dispatch(sharpen, &bindings, parameters, workgroups[3])?;
        let mut edges = plane()?;
        let bindings = [blurred.binding()?, edges.binding_mut()?];
        stream.dispatch(gradient, &bindings, parameters, workgroups[4])?;

        let mut picture = scope.try_acquire::<u32, _>(filter.pixels())?;
        let bindings = [sharp.binding()?, edges.binding()?, picture.binding_mut()?];
        stream.dispatch(composite, &bindings, parameters, workgroups[5])?;
        stream.submit()?;
        let host_time = processor_time() - start;
        let picture = wants_picture.then(|| picture.copy_to_vec()).transpose()?;
        Ok(Filtered { host_time, picture })
    }

    fn created(&self) -> [u64; 2] {
        let counts = self.stream.counts();
        [counts.buffers_created, counts.bind_groups_created]
    }
}

fn compile(stream: &Stream, kernel: &WgslKernel) -> Result<Kernel, WgpuError> {
    let accesses: Vec<_> = kernel.accesses.iter().map(|access| bound(*access)).collect();
    stream.kernel(kernel.source, kernel.entry, &accesses)
}

fn bound(access: Access) -> pool_wgpu::Access {
    match access {
        Access::Read => pool_wgpu::Access::Read,
        Access::ReadWrite => pool_wgpu::Access::ReadWrite,
    }
}
