//! A minimal user of `pool-wgpu` in a browser: it doubles numbers on the device. docs/wgpu.md links
//! to the size of its module.

#![cfg(target_arch = "wasm32")]

use pool_facade::Pool;
use pool_wgpu::{Access, Stream, StreamConfig, Wgpu};
use wasm_bindgen::prelude::{JsError, wasm_bindgen};

/// Doubles the numbers.
///
/// # Errors
///
/// Fails if the browser has no WebGPU, no adapter, or no memory.
#[wasm_bindgen]
pub async fn doubled(numbers: Vec<f32>) -> Result<Vec<f32>, JsError> {
    let stream = Stream::open_with_config_async(&StreamConfig::new()).await?;
    let kernel = stream.kernel(include_str!("double.wgsl"), "double", &[Access::ReadWrite])?;
    let mut pool = Pool::<Wgpu>::new(stream.clone());
    let scope = pool.scope();
    let mut array = scope.try_acquire_from(&numbers)?;
    let groups = u32::try_from(numbers.len().div_ceil(64))?;
    stream.dispatch(&kernel, &[array.binding_mut()?], &[], [groups, 1, 1])?;
    Ok(array.read()?.await?)
}
