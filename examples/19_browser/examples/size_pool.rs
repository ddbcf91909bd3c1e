//! A minimal user of `Pool<Cpu>` in a browser. docs/wgpu.md links to the size of its module.

#![cfg(target_arch = "wasm32")]

use std::hint::black_box;

use pool_facade::prelude::*;
use wasm_bindgen::prelude::wasm_bindgen;

/// Sums three arrays of `length` numbers each.
#[wasm_bindgen]
#[must_use]
pub fn sum(length: usize) -> f64 {
    let mut pool = Pool::<Cpu>::new(());
    let scope = pool.scope();
    let arrays = [1.0, 2.0, 3.0].map(|value| black_box(scope.acquire_filled(length, value)));
    arrays.iter().flat_map(|array| array.iter()).sum()
}
