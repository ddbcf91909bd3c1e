//! Opens a device and its queue for users who do not provide a device.

use crate::config::StreamConfig;
use crate::ending;
use crate::error::WgpuError;

/// The features that kernels require for 16-bit and 64-bit elements. The stream enables only the
/// features that its adapter supports.
const ELEMENT_FEATURES: wgpu::Features = wgpu::Features::SHADER_F16
    .union(wgpu::Features::SHADER_F64)
    .union(wgpu::Features::SHADER_INT64)
    .union(wgpu::Features::SHADER_I16);

/// Opens a device with the highest limits that its adapter supports.
///
/// # Errors
///
/// Returns [`WgpuError::NoAdapter`] if there is no suitable adapter, or [`WgpuError::NoDevice`] if
/// the adapter cannot provide the requested device.
pub(crate) async fn open(config: &StreamConfig) -> Result<(wgpu::Device, wgpu::Queue), WgpuError> {
    ending::check_not_ending()?;
    let no_adapter = |message: String| WgpuError::NoAdapter { message };
    if wgpu::Instance::enabled_backend_features().is_empty() {
        let message = "this build of pool-wgpu has no graphics API of this system".to_owned();
        return Err(no_adapter(message));
    }
    let descriptor = wgpu::InstanceDescriptor::new_without_display_handle_from_env();
    let instance = wgpu::Instance::new(descriptor);
    let request = wgpu::RequestAdapterOptions {
        power_preference: config.power,
        force_fallback_adapter: config.wants_fallback,
        ..Default::default()
    };
    let adapter = instance.request_adapter(&request).await;
    let adapter = adapter.map_err(|error| no_adapter(error.to_string()))?;
    let descriptor = wgpu::DeviceDescriptor {
        label: Some("pool-wgpu"),
        required_features: config.features | (adapter.features() & ELEMENT_FEATURES),
        required_limits: adapter.limits(),
        ..Default::default()
    };
    adapter.request_device(&descriptor).await.map_err(|error| WgpuError::NoDevice {
        adapter: adapter.get_info().name,
        message: error.to_string(),
    })
}

/// Blocks until a future completes. The future must not need any other code to run in order to
/// complete. Outside a browser, wgpu's futures complete immediately.
#[cfg(not(target_arch = "wasm32"))]
pub(crate) fn wait<T>(future: impl Future<Output = T>) -> T {
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(answer) => return answer,
            Poll::Pending => std::thread::yield_now(),
        }
    }
}
