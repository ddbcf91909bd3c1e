//! A heat equation to draw into. The temperatures stay in a slot, and the temporaries of the steps
//! are in a scope.

use bytemuck::{NoUninit, bytes_of};
use js_sys::Promise;
use pool_facade::{DynamicPool, Handle};
use pool_kernels::wgsl::{
    Access, STENCIL, StencilParameters, WgslKernel, workgroups_over_elements, workgroups_over_plane,
};
use pool_wgpu::{Kernel, Stream, Wgpu};
use wasm_bindgen::prelude::{JsError, wasm_bindgen};
use wasm_bindgen_futures::future_to_promise;

use crate::device::{Device, compile, pixels};

const SOURCE: &str = include_str!("heat.wgsl");
const WARM: WgslKernel =
    WgslKernel { source: SOURCE, entry: "warm", accesses: &[Access::ReadWrite] };
const COLOUR: WgslKernel =
    WgslKernel { source: SOURCE, entry: "colour", accesses: &[Access::Read, Access::ReadWrite] };

/// The number of pairs of steps per frame.
const PAIRS: usize = 8;
/// The weight of each neighbour in a step.
const RATIO: f32 = 0.2;

/// The parameters of both kernels of this page.
#[derive(Clone, Copy, NoUninit)]
#[repr(C)]
struct Brush {
    side: u32,
    x: f32,
    y: f32,
    radius: f32,
    heat: f32,
}

/// The temperatures of a square plane.
#[wasm_bindgen]
#[derive(Debug)]
pub struct Heat {
    side: u32,
    stream: Stream,
    stencil: Kernel,
    warm: Kernel,
    colour: Kernel,
    pool: DynamicPool<Wgpu>,
    temperatures: Handle<f32>,
}

#[wasm_bindgen]
impl Heat {
    /// Creates a cold plane with `side` points along each side.
    ///
    /// # Errors
    ///
    /// Fails if the device rejects a kernel, or is out of memory.
    #[wasm_bindgen(constructor)]
    pub fn new(device: &Device, side: u32) -> Result<Self, JsError> {
        let stream = device.stream().clone();
        let mut pool = DynamicPool::new(stream.clone());
        let temperatures = pool.try_acquire_zeroed((side * side) as usize)?;
        let [stencil, warm, colour] =
            [&STENCIL, &WARM, &COLOUR].map(|kernel| compile(&stream, kernel));
        let (stencil, warm, colour) = (stencil?, warm?, colour?);
        Ok(Self { side, stream, stencil, warm, colour, pool, temperatures })
    }

    /// Warms the points around a position.
    ///
    /// # Errors
    ///
    /// Fails if the device has been lost.
    pub fn warm(&mut self, x: f32, y: f32, radius: f32) -> Result<(), JsError> {
        let brush = Brush { side: self.side, x, y, radius, heat: 0.5 };
        let mut plane = self.pool.get_mut(self.temperatures)?;
        let groups = workgroups_over_elements(self.side * self.side);
        self.stream.dispatch(&self.warm, &[plane.binding_mut()?], bytes_of(&brush), groups)?;
        Ok(())
    }

    /// Removes all heat.
    ///
    /// # Errors
    ///
    /// Fails if the device has been lost.
    pub fn cool(&mut self) -> Result<(), JsError> {
        use pool_facade::PoolViewMut;
        self.pool.get_mut(self.temperatures)?.fill_with_zeros()?;
        Ok(())
    }

    /// Runs some steps, and returns a promise of the picture in red, green, blue and alpha.
    ///
    /// # Errors
    ///
    /// Fails if the device has been lost.
    pub fn frame(&mut self) -> Result<Promise, JsError> {
        let Self { side, stream, stencil, colour, pool, temperatures, .. } = self;
        let count = (*side * *side) as usize;
        let (mut handles, scope) = pool.split();
        let mut plane = handles.get_mut(*temperatures)?;
        let mut other = scope.try_acquire::<f32, _>(count)?;
        let parameters = StencilParameters {
            width: *side,
            height: *side,
            centre: 1.0 - 4.0 * RATIO,
            neighbour: RATIO,
        };
        let groups = workgroups_over_plane(*side, *side);
        for _ in 0..PAIRS {
            let there = [plane.binding()?, other.binding_mut()?];
            stream.dispatch(stencil, &there, bytes_of(&parameters), groups)?;
            let back = [other.binding()?, plane.binding_mut()?];
            stream.dispatch(stencil, &back, bytes_of(&parameters), groups)?;
        }
        let mut picture = scope.try_acquire::<u32, _>(count)?;
        let brush = Brush { side: *side, x: 0.0, y: 0.0, radius: 1.0, heat: 0.0 };
        let bindings = [plane.binding()?, picture.binding_mut()?];
        let groups = workgroups_over_elements(*side * *side);
        stream.dispatch(colour, &bindings, bytes_of(&brush), groups)?;
        let reading = picture.as_view().read()?;
        Ok(future_to_promise(async move {
            let words = reading.await.map_err(|error| JsError::new(&error.to_string()))?;
            Ok(pixels(&words).into())
        }))
    }
}
