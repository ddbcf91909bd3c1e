//! The device of the page, and the common part of its kernels.

use pool_kernels::wgsl::{Access, WgslKernel};
use pool_wgpu::{Kernel, Stream, StreamConfig, WgpuError};
use wasm_bindgen::prelude::{JsError, wasm_bindgen};

/// A device of the browser, opened.
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
    /// Fails if the browser has no WebGPU, or no adapter.
    pub async fn open() -> Result<Self, JsError> {
        Ok(Self { stream: Stream::open_with_config_async(&StreamConfig::new()).await? })
    }

    /// Destroys the device, as a driver reset does.
    pub fn lose(&self) {
        self.stream.device().destroy();
    }

    /// Returns `true` if the device was lost.
    #[must_use]
    pub fn is_lost(&self) -> bool {
        self.stream.is_lost()
    }

    /// Blocks that were created and not freed.
    #[must_use]
    pub fn blocks(&self) -> f64 {
        let counts = self.stream.counts();
        (counts.buffers_created - counts.buffers_freed) as f64
    }
}

impl Device {
    /// The stream of all pools of the page.
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

/// The bytes of a picture, a pixel of red, green, blue and alpha in each word.
pub(crate) fn pixels(words: &[u32]) -> js_sys::Uint8ClampedArray {
    js_sys::Uint8ClampedArray::from(bytemuck::cast_slice::<u32, u8>(words))
}
