//! The film, filtered with the filter of example 17 by both methods.

use js_sys::Promise;
use wasm_bindgen::prelude::{JsError, wasm_bindgen};
use wasm_bindgen_futures::future_to_promise;

use crate::created::Created;
use crate::device::{Device, pixels};
use crate::filter::Filter;
use crate::pooled::Pooled;

/// The filter, both with a pool and with buffers that each frame creates.
#[wasm_bindgen]
#[derive(Debug)]
pub struct Video {
    pooled: Pooled,
    created: Created,
}

#[wasm_bindgen]
impl Video {
    /// Creates a filter for square frames. The number of pixels along each side must be a multiple
    /// of four.
    ///
    /// # Errors
    ///
    /// Fails if the device rejects a kernel, or is out of memory.
    #[wasm_bindgen(constructor)]
    pub fn new(device: &Device, side: u32) -> Result<Self, JsError> {
        let filter = Filter::new(side);
        Ok(Self { pooled: Pooled::new(device, &filter)?, created: Created::new(device, &filter) })
    }

    /// Records and submits the work on a frame of grey levels. Returns a promise of the frame's
    /// picture, in red, green, blue and alpha.
    ///
    /// # Errors
    ///
    /// Fails if the device has been lost.
    pub fn frame(&mut self, greys: &[u8], with_pool: bool) -> Result<Promise, JsError> {
        if !with_pool {
            return Ok(self.created.frame(greys));
        }
        // The reading borrows nothing, so the next frame may be recorded while this one is awaited.
        let reading = self.pooled.frame(greys)?;
        Ok(future_to_promise(async move {
            let words = reading.await.map_err(|error| JsError::new(&error.to_string()))?;
            Ok(pixels(&words).into())
        }))
    }

    /// Returns the number of buffers that one method has created.
    #[must_use]
    pub fn buffers(&self, with_pool: bool) -> f64 {
        self.created_by(with_pool)[0] as f64
    }

    /// Returns the number of bind groups that one method has created.
    #[must_use]
    pub fn bind_groups(&self, with_pool: bool) -> f64 {
        self.created_by(with_pool)[1] as f64
    }

    /// Returns the bytes that the pool holds, or that one frame creates.
    #[must_use]
    pub fn bytes(&self, with_pool: bool) -> f64 {
        (if with_pool { self.pooled.bytes() } else { self.created.bytes() }) as f64
    }

    fn created_by(&self, with_pool: bool) -> [u64; 2] {
        if with_pool { self.pooled.created() } else { self.created.created() }
    }
}
