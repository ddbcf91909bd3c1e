//! The device of the tests, and a kernel of this project on it.

#[cfg(not(target_arch = "wasm32"))]
use std::pin::pin;
#[cfg(not(target_arch = "wasm32"))]
use std::sync::OnceLock;
#[cfg(not(target_arch = "wasm32"))]
use std::task::{Context, Poll, Waker};

use bytemuck::{NoUninit, bytes_of};
use pool_kernels::wgsl::{Access, WgslKernel};
use pool_wgpu::{Binding, Kernel, Stream, wgpu};

use crate::messages::Quiet;

/// Returns a stream of one device for all tests, and a guard that fails the test on a warning;
/// `None` without an adapter.
pub(crate) fn stream() -> Option<(Stream, Quiet)> {
    #[cfg(not(target_arch = "wasm32"))]
    static DEVICE: OnceLock<Result<(wgpu::Device, wgpu::Queue), String>> = OnceLock::new();
    let quiet = Quiet::new();
    // In a browser devices stay on their thread.
    #[cfg(target_arch = "wasm32")]
    let opened = &open();
    #[cfg(not(target_arch = "wasm32"))]
    let opened = DEVICE.get_or_init(open);
    match opened {
        Ok((device, queue)) => Some((Stream::new(device.clone(), queue.clone()).unwrap(), quiet)),
        Err(why) => {
            println!("SKIPPED: {why}");
            None
        }
    }
}

/// Opens a device of the first adapter, with the validation of wgpu and of the driver's layers.
/// Fails with the reason without an adapter.
fn open() -> Result<(wgpu::Device, wgpu::Queue), String> {
    let mut descriptor = wgpu::InstanceDescriptor::new_without_display_handle_from_env();
    // It excludes DEBUG: validation layers of 2023 do not know the source language that wgpu then
    // writes into shaders.
    descriptor.flags = wgpu::InstanceFlags::VALIDATION;
    let instance = wgpu::Instance::new(descriptor);
    let adapter = ready(instance.request_adapter(&wgpu::RequestAdapterOptions::default()))
        .map_err(|why| format!("wgpu finds no adapter: {why}"))?;
    let (device, queue) =
        ready(adapter.request_device(&wgpu::DeviceDescriptor::default())).unwrap();
    #[cfg(target_arch = "wasm32")]
    device.on_uncaptured_error(std::sync::Arc::new(crate::messages::note_error));
    Ok((device, queue))
}

/// Returns the result of a future once the event loop has run.
#[cfg(target_arch = "wasm32")]
fn ready<T>(future: impl Future<Output = T>) -> T {
    pool_wgpu::suspend::wait(future)
}

/// Returns the result of a future at once, as wgpu's have outside a browser.
#[cfg(not(target_arch = "wasm32"))]
fn ready<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(answer) => answer,
        Poll::Pending => panic!("wgpu returns at once"),
    }
}

/// A kernel of this project, compiled for a stream.
pub(crate) struct Compiled {
    stream: Stream,
    kernel: Kernel,
}

impl Compiled {
    pub(crate) fn new(stream: &Stream, kernel: &WgslKernel) -> Self {
        let accesses: Vec<_> = kernel.accesses.iter().map(|access| bound(*access)).collect();
        let kernel = stream.kernel(kernel.source, kernel.entry, &accesses).unwrap();
        Self { stream: stream.clone(), kernel }
    }

    pub(crate) fn dispatch(
        &self,
        bindings: &[Binding<'_>],
        parameters: &impl NoUninit,
        workgroups: [u32; 3],
    ) {
        let parameters = bytes_of(parameters);
        self.stream.dispatch(&self.kernel, bindings, parameters, workgroups).unwrap();
    }
}

fn bound(access: Access) -> pool_wgpu::Access {
    match access {
        Access::Read => pool_wgpu::Access::Read,
        Access::ReadWrite => pool_wgpu::Access::ReadWrite,
    }
}

#[test]
fn every_kernel_compiles_with_the_bindings_that_it_says_it_has() {
    let Some((stream, _quiet)) = stream() else { return };
    for kernel in pool_kernels::wgsl::KERNELS {
        Compiled::new(&stream, &kernel);
    }
}
