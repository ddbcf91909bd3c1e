//! The device of the page, and the parts that its kernels share.

use pool_kernels::wgsl::{Access, WgslKernel};
use pool_wgpu::{Kernel, Stream, StreamConfig, WgpuError};
use wasm_bindgen::prelude::{JsError, wasm_bindgen};

/// An open device of the browser.
#[wasm_bindgen]
#[derive(Debug)]
pub struct Device {
    stream: Stream,
}

#[wasm_bindgen]
impl Device {
    /// Opens the browser's adapter.
    ///
    /// # Errors
    ///
    /// Fails if the browser does not support WebGPU, or if it finds no adapter.
    pub async fn open() -> Result<Self, JsError> {
        Ok(Self { stream: Stream::open_with_config_async(&StreamConfig::new()).await? })
    }

    /// Destroys the device, like a driver reset does.
    pub fn lose(&self) {
        self.stream.device().destroy();
    }

    /// Returns `true` if the device has been lost.
    #[must_use]
    pub fn is_lost(&self) -> bool {
        self.stream.is_lost()
    }

    /// Returns the number of blocks that were created and not freed.
    #[must_use]
    pub fn blocks(&self) -> f64 {
        let counts = self.stream.counts();
        (counts.buffers_created - counts.buffers_freed) as f64
    }
}

impl Device {
    /// Returns the stream that all pools of the page use.
    pub(crate) fn stream(&self) -> &Stream {
        &self.stream
    }
}

/// Compiles a kernel.
pub(crate) fn compile(stream: &Stream, kernel: &WgslKernel) -> Result<Kernel, WgpuError> {
    let bound = |access: &Access| match access {
        Access::Read => pool_wgpu::Access::Read,
        Access::ReadWrite => pool_wgpu::Access::ReadWrite,
    };
    let accesses: Vec<_> = kernel.accesses.iter().map(bound).collect();
    stream.kernel(kernel.source, kernel.entry, &accesses)
}

/// Returns the bytes of a picture. Each word holds one pixel of red, green, blue and alpha.
pub(crate) fn pixels(words: &[u32]) -> js_sys::Uint8ClampedArray {
    js_sys::Uint8ClampedArray::from(bytemuck::cast_slice::<u32, u8>(words))
}
