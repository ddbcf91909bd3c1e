//! The program of `size_pool` with vectors. docs/wgpu.md links to the sizes of the modules.

#![cfg(target_arch = "wasm32")]

use std::hint::black_box;

use wasm_bindgen::prelude::wasm_bindgen;

/// Sums three arrays of `length` numbers each.
#[wasm_bindgen]
#[must_use]
pub fn sum(length: usize) -> f64 {
    let arrays = [1.0, 2.0, 3.0].map(|value| black_box(vec![value; length]));
    arrays.iter().flatten().sum()
}
