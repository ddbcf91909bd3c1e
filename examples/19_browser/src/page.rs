//! The host part, as the page calls it.

use pool_facade::prelude::*;
use wasm_bindgen::prelude::{JsError, wasm_bindgen};

use crate::film;
use crate::host::{
    CHECKED_FRAME, CHECKED_SIDE, EXPECTED, HostFilter, three_arrays_allocated, three_arrays_pooled,
};

/// The grey levels of one frame of the film.
#[wasm_bindgen]
#[must_use]
pub fn film_frame(number: u32, side: u32) -> Vec<u8> {
    film::frame(number, side)
}

/// The host's filter.
#[wasm_bindgen]
#[derive(Debug)]
pub struct Host {
    filter: HostFilter,
    pool: Pool<Cpu>,
}

#[wasm_bindgen]
impl Host {
    /// A filter of square frames.
    #[wasm_bindgen(constructor)]
    #[must_use]
    pub fn new(side: u32) -> Self {
        Self { filter: HostFilter::new(side as usize), pool: Pool::new(()) }
    }

    /// A picture in red, green, blue and alpha.
    ///
    /// # Errors
    ///
    /// Fails if there is no memory.
    pub fn frame(&mut self, greys: &[u8], with_pool: bool) -> Result<Vec<u8>, JsError> {
        if with_pool { Ok(self.filter.with_pool(greys)?) } else { Ok(self.filter.with_vec(greys)) }
    }

    /// Takes three arrays of 64 words in each of many scopes.
    #[must_use]
    pub fn three_arrays(&mut self, scopes: u32, with_pool: bool) -> f64 {
        let sum = if with_pool {
            three_arrays_pooled(&mut self.pool, scopes, 64)
        } else {
            three_arrays_allocated(scopes, 64)
        };
        sum as f64
    }

    /// Bytes that the filter's pool holds.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.filter.bytes()
    }
}

/// Returns `true` if the host's picture has the bits that it has natively.
///
/// # Errors
///
/// Fails if there is no memory.
#[wasm_bindgen]
pub fn host_agrees_with_native() -> Result<bool, JsError> {
    let greys = film::frame(CHECKED_FRAME, CHECKED_SIDE);
    let mut filter = HostFilter::new(CHECKED_SIDE as usize);
    Ok(film::checksum(&filter.with_pool(&greys)?) == EXPECTED)
}

/// Pages of 64 KiB that the instance of WebAssembly has.
#[wasm_bindgen]
#[must_use]
pub fn memory_pages() -> usize {
    core::arch::wasm32::memory_size(0)
}
