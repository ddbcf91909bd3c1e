//! The host's smoothing along rows, computed on the device. The results must be bitwise equal.

use js_sys::Promise;
use pool_facade::Pool;
use pool_kernels::wgsl::{Access, WgslKernel, workgroups_over_elements};
use pool_wgpu::Wgpu;
use wasm_bindgen::prelude::{JsError, wasm_bindgen};
use wasm_bindgen_futures::future_to_promise;

use crate::device::{Device, compile};
use crate::film::frame;
use crate::host::{CHECKED_FRAME, CHECKED_SIDE, smoothed_rows};

const SMOOTH: WgslKernel = WgslKernel {
    source: include_str!("smooth.wgsl"),
    entry: "smooth_rows",
    accesses: &[Access::Read, Access::ReadWrite],
};

/// Smooths a frame on the device and on the host. Returns a promise of `true` if both results are
/// bitwise equal.
///
/// # Errors
///
/// Fails if the device has been lost.
#[wasm_bindgen]
pub fn device_agrees_with_host(device: &Device) -> Result<Promise, JsError> {
    let stream = device.stream();
    let kernel = compile(stream, &SMOOTH)?;
    let levels = frame(CHECKED_FRAME, CHECKED_SIDE);
    let words: Vec<u32> = levels.iter().map(|level| u32::from(*level)).collect();
    let mut pool = Pool::<Wgpu>::new(stream.clone());
    let scope = pool.scope();
    let from = scope.try_acquire_from(&words)?;
    let mut to = scope.try_acquire::<u32, _>(words.len())?;
    let bindings = [from.binding()?, to.binding_mut()?];
    let groups = workgroups_over_elements(CHECKED_SIDE * CHECKED_SIDE);
    stream.dispatch(&kernel, &bindings, &CHECKED_SIDE.to_le_bytes(), groups)?;
    let reading = to.read()?;
    let expected = smoothed_rows(CHECKED_SIDE as usize, &levels);
    Ok(future_to_promise(async move {
        let found = reading.await.map_err(|error| JsError::new(&error.to_string()))?;
        let agrees = found.iter().zip(&expected).all(|(found, own)| *found == u32::from(*own));
        Ok((agrees && found.len() == expected.len()).into())
    }))
}
