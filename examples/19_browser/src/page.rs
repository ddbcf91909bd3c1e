//! The part of the page that runs on the host, with the functions that the page calls.

use pool_facade::prelude::*;
use wasm_bindgen::prelude::{JsError, wasm_bindgen};

use crate::film;
use crate::host::{
    CHECKED_FRAME, CHECKED_SIDE, EXPECTED, HostFilter, three_arrays_allocated, three_arrays_pooled,
};

/// Returns the grey levels of one frame of the film.
#[wasm_bindgen]
#[must_use]
pub fn film_frame(number: u32, side: u32) -> Vec<u8> {
    film::frame(number, side)
}

/// The filter on the host.
#[wasm_bindgen]
#[derive(Debug)]
pub struct Host {
    filter: HostFilter,
    pool: Pool<Cpu>,
}

#[wasm_bindgen]
impl Host {
    /// Creates a filter for square frames.
    #[wasm_bindgen(constructor)]
    #[must_use]
    pub fn new(side: u32) -> Self {
        Self { filter: HostFilter::new(side as usize), pool: Pool::new(()) }
    }

    /// Returns a picture in red, green, blue and alpha.
    ///
    /// # Errors
    ///
    /// Fails if memory runs out.
    pub fn frame(&mut self, greys: &[u8], with_pool: bool) -> Result<Vec<u8>, JsError> {
        if with_pool { Ok(self.filter.with_pool(greys)?) } else { Ok(self.filter.with_vec(greys)) }
    }

    /// Acquires three arrays of 64 words in each of many scopes.
    #[must_use]
    pub fn three_arrays(&mut self, scopes: u32, with_pool: bool) -> f64 {
        let sum = if with_pool {
            three_arrays_pooled(&mut self.pool, scopes, 64)
        } else {
            three_arrays_allocated(scopes, 64)
        };
        sum as f64
    }

    /// Returns the bytes that the filter's pool holds.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.filter.bytes()
    }
}

/// Returns `true` if the host's picture in the browser is bitwise equal to the native one.
///
/// # Errors
///
/// Fails if memory runs out.
#[wasm_bindgen]
pub fn host_agrees_with_native() -> Result<bool, JsError> {
    let greys = film::frame(CHECKED_FRAME, CHECKED_SIDE);
    let mut filter = HostFilter::new(CHECKED_SIDE as usize);
    Ok(film::checksum(&filter.with_pool(&greys)?) == EXPECTED)
}

/// Returns the number of 64 KiB pages that the WebAssembly instance uses.
#[wasm_bindgen]
#[must_use]
pub fn memory_pages() -> usize {
    core::arch::wasm32::memory_size(0)
}
