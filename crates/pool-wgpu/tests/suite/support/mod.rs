//! The device of the tests, the checks after them, and their access to memory.

mod messages;
mod probe;
mod snapshots;

#[cfg(not(target_arch = "wasm32"))]
use std::pin::pin;
#[cfg(not(target_arch = "wasm32"))]
use std::sync::OnceLock;
use std::sync::{Mutex, PoisonError};
#[cfg(not(target_arch = "wasm32"))]
use std::task::{Context, Poll, Waker};

use pool_wgpu::{Stream, wgpu};

pub(crate) use messages::{Quiet, watching_calls};
pub(crate) use probe::WgpuProbe;
pub(crate) use snapshots::Snapshots;

/// Returns a stream and a guard as elsewhere, of a device of its own. In a browser each test has
/// its instance of WebAssembly, and devices stay on their thread.
#[cfg(target_arch = "wasm32")]
pub(crate) fn stream() -> Option<(Stream, Quiet)> {
    own_stream(wgpu::Limits::default())
}

/// A stream of one device for all tests, and a guard that fails the test if a validation layer
/// printed a message; `None` if there is no adapter.
#[cfg(not(target_arch = "wasm32"))]
pub(crate) fn stream() -> Option<(Stream, Quiet)> {
    static DEVICE: OnceLock<Option<(wgpu::Device, wgpu::Queue)>> = OnceLock::new();
    let quiet = Quiet::new();
    let (device, queue) = DEVICE.get_or_init(|| open(wgpu::Limits::default())).clone()?;
    Some((Stream::new(device, queue).unwrap(), quiet))
}

/// A stream of a device of its own, which a test may lose, and which is [kept](keep).
pub(crate) fn own_stream(limits: wgpu::Limits) -> Option<(Stream, Quiet)> {
    let quiet = Quiet::new();
    let (device, queue) = open(limits)?;
    Some((Stream::new(device, queue).unwrap(), quiet))
}

/// Runs code with a stream of a device that is destroyed afterwards, for tests with hundreds of them. No other device is
/// opened meanwhile.
pub(crate) fn with_passing_stream<R>(code: impl FnOnce(&Stream) -> R) -> Option<R> {
    one_at_a_time(|| {
        let _quiet = Quiet::new();
        let (device, queue) = open_unkept(wgpu::Limits::default())?;
        let stream = Stream::new(device, queue).unwrap();
        Some(code(&stream))
    })
}

/// Runs code that opens or destroys devices while no other such code runs.
pub(crate) fn one_at_a_time<R>(code: impl FnOnce() -> R) -> R {
    static OPENING: Mutex<()> = Mutex::new(());
    let _opening = OPENING.lock().unwrap_or_else(PoisonError::into_inner);
    code()
}

fn open(limits: wgpu::Limits) -> Option<(wgpu::Device, wgpu::Queue)> {
    let (device, queue) = one_at_a_time(|| open_unkept(limits))?;
    keep(&device);
    Some((device, queue))
}

/// A device of the first adapter.
fn open_unkept(limits: wgpu::Limits) -> Option<(wgpu::Device, wgpu::Queue)> {
    #[cfg(not(target_arch = "wasm32"))]
    static ADAPTER: OnceLock<Result<wgpu::Adapter, String>> = OnceLock::new();
    #[cfg(not(target_arch = "wasm32"))]
    let adapter = ADAPTER.get_or_init(first_adapter);
    // In a browser an adapter gives one device.
    #[cfg(target_arch = "wasm32")]
    let adapter = &first_adapter();
    let adapter = match adapter {
        Ok(adapter) => adapter,
        Err(why) => {
            println!("SKIPPED: wgpu finds no adapter: {why}");
            return None;
        }
    };
    let features = adapter.features() & (wgpu::Features::SHADER_F64 | wgpu::Features::SHADER_INT64);
    let descriptor = wgpu::DeviceDescriptor {
        required_features: features,
        required_limits: limits,
        ..Default::default()
    };
    let (device, queue) = ready(adapter.request_device(&descriptor)).unwrap();
    // Elsewhere wgpu's own handler panics, which fails the test at once.
    #[cfg(target_arch = "wasm32")]
    device.on_uncaptured_error(std::sync::Arc::new(messages::note_error));
    Some((device, queue))
}

/// The first adapter, with wgpu's validation. With `POOL_VULKAN_LAYERS` in the environment, Khronos' validation layers check
/// the calls, too: only for `--test-threads=1`, because they crash at times while threads use several devices.
fn first_adapter() -> Result<wgpu::Adapter, String> {
    let mut descriptor = wgpu::InstanceDescriptor::new_without_display_handle_from_env();
    // Without DEBUG: validation layers of 2023 do not know the source language that wgpu then writes into shaders.
    let with_layers = std::env::var_os("POOL_VULKAN_LAYERS").is_some();
    let layers = wgpu::InstanceFlags::VALIDATION;
    descriptor.flags = if with_layers { layers } else { wgpu::InstanceFlags::empty() };
    let level = messages::at_usual_level();
    let instance = wgpu::Instance::new(descriptor);
    drop(level);
    let adapter = ready(instance.request_adapter(&wgpu::RequestAdapterOptions::default()));
    adapter.map_err(|why| why.to_string())
}

/// Keeps a device until the process ends.
///
/// Khronos' layers (1.3.239) crash at times in the first calls of a device that one thread creates while others destroy
/// theirs, with wgpu alone, too.
pub(crate) fn keep(device: &wgpu::Device) {
    std::mem::forget(device.clone());
}

/// Returns the result of a future that is ready at once, as wgpu's are outside of a browser.
#[cfg(not(target_arch = "wasm32"))]
pub(crate) fn ready<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(answer) => answer,
        Poll::Pending => panic!("wgpu answers at once"),
    }
}

/// Returns the result of a future after the event loop has run.
#[cfg(target_arch = "wasm32")]
pub(crate) fn ready<T>(future: impl Future<Output = T>) -> T {
    pool_wgpu::suspend::wait(future)
}

/// Destroys a stream's device. A browser reports that later.
pub(crate) fn destroy(stream: &Stream) {
    stream.device().destroy();
    #[cfg(target_arch = "wasm32")]
    for _ in 0..100_000 {
        if !stream.is_lost() {
            run_event_loop();
        }
    }
}

/// Lets a browser's event loop run.
pub(crate) fn run_event_loop() {
    #[cfg(target_arch = "wasm32")]
    for _ in 0..2 {
        pool_wgpu::suspend::run_event_loop();
    }
}
