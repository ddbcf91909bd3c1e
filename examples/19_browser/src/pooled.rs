//! Frames of the film with a pool. Each frame uses one scope, which reuses the memory and bind
//! groups of the previous frame.

use bytemuck::bytes_of;
use pool_facade::{DynamicPool, Handle, Pool};
use pool_wgpu::{Kernel, Reading, Stream, Wgpu};
use wasm_bindgen::JsError;

use crate::device::{Device, compile};
use crate::filter::{Filter, KERNELS};

/// The filter of example 17, with a pool.
#[derive(Debug)]
pub(crate) struct Pooled {
    filter: Filter,
    stream: Stream,
    kernels: Vec<Kernel>,
    constants: DynamicPool<Wgpu>,
    /// The weights of the blur, in the pool of constants.
    weights: Handle<f32>,
    pool: Pool<Wgpu>,
}

impl Pooled {
    pub(crate) fn new(device: &Device, filter: &Filter) -> Result<Self, JsError> {
        let stream = device.stream().clone();
        let kernels = KERNELS.iter().map(|kernel| compile(&stream, kernel));
        let kernels = kernels.collect::<Result<_, _>>()?;
        let mut constants = DynamicPool::new(stream.clone());
        let weights = constants.try_acquire_from(&filter.weights)?;
        let pool = Pool::new(stream.clone());
        Ok(Self { filter: filter.clone(), stream, kernels, constants, weights, pool })
    }

    /// Records and submits the work on a frame. Returns the reading of the picture.
    pub(crate) fn frame(&mut self, greys: &[u8]) -> Result<Reading<u32>, JsError> {
        let Self { filter, stream, kernels, constants, weights, pool } = self;
        let (parameters, blur) = (bytes_of(&filter.parameters), bytes_of(&filter.blur));
        let [unpack, rows, columns, sharpen, gradient, composite] = &kernels[..] else {
            return Err(JsError::new("a kernel is missing"));
        };
        let groups = filter.workgroups();
        let weights = constants.get(*weights)?;

        let scope = pool.scope();
        let words = scope.try_acquire_from(greys)?;
        let plane = || scope.try_acquire::<f32, _>(filter.pixels());
        let (mut grey, mut half_blurred, mut blurred) = (plane()?, plane()?, plane()?);
        let (mut sharp, mut edges) = (plane()?, plane()?);
        let mut picture = scope.try_acquire::<u32, _>(filter.pixels())?;

        let bindings = [words.binding()?, grey.binding_mut()?];
        stream.dispatch(unpack, &bindings, parameters, groups[0])?;
        let bindings = [grey.binding()?, weights.binding()?, half_blurred.binding_mut()?];
        stream.dispatch(rows, &bindings, blur, groups[1])?;
        let bindings = [half_blurred.binding()?, weights.binding()?, blurred.binding_mut()?];
        stream.dispatch(columns, &bindings, blur, groups[2])?;
        let bindings = [grey.binding()?, blurred.binding()?, sharp.binding_mut()?];
        stream.dispatch(sharpen, &bindings, parameters, groups[3])?;
        let bindings = [blurred.binding()?, edges.binding_mut()?];
        stream.dispatch(gradient, &bindings, parameters, groups[4])?;
        let bindings = [sharp.binding()?, edges.binding()?, picture.binding_mut()?];
        stream.dispatch(composite, &bindings, parameters, groups[5])?;
        Ok(picture.as_view().read()?)
    }

    /// Returns the number of buffers created so far for blocks and staging, and the number of bind
    /// groups.
    pub(crate) fn created(&self) -> [u64; 2] {
        let counts = self.stream.counts();
        [counts.buffers_created + counts.staging_buffers_created, counts.bind_groups_created]
    }

    /// Returns the bytes that the pool holds.
    pub(crate) fn bytes(&self) -> usize {
        self.pool.stats().reserved_bytes
    }
}
