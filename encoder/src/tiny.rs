//! A tiny model with weights from a hash, for tests without a file.

use std::borrow::Cow;

use crate::algebra::Failure;
use crate::model::{Configuration, Tensor, Tensors};

/// Two layers of 64 hidden numbers in four heads.
pub const CONFIGURATION: Configuration = Configuration {
    words: 100,
    positions: 128,
    kinds: 2,
    hidden: 64,
    heads: 4,
    inner: 256,
    layers: 2,
    epsilon: 1e-12,
};

/// One layer of 16 hidden numbers in two heads, for many replays on a simulated device.
pub const SMALLER: Configuration =
    Configuration { hidden: 16, heads: 2, inner: 32, layers: 1, ..CONFIGURATION };

/// The tensors of the tiny models.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tiny;

impl Tensors for Tiny {
    fn numbers(&self, tensor: &Tensor) -> Result<Cow<'_, [f32]>, Failure> {
        let seed = tensor
            .name
            .bytes()
            .fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
        let is_scale = tensor.name.ends_with("LayerNorm.weight");
        let numbers = (0..u32::try_from(tensor.length)?).map(|at| {
            let number = uniform(seed ^ at.wrapping_mul(0x9e37_79b9));
            if is_scale { 1.0 + number } else { number }
        });
        Ok(numbers.collect())
    }
}

/// A number from -0.25 to 0.25, from the 24 highest bits of a hash (Murmur3's last steps).
#[expect(clippy::cast_precision_loss, reason = "24 bits are exact")]
fn uniform(mut bits: u32) -> f32 {
    bits = (bits ^ (bits >> 16)).wrapping_mul(0x85eb_ca6b);
    bits = (bits ^ (bits >> 13)).wrapping_mul(0xc2b2_ae35);
    bits ^= bits >> 16;
    ((bits >> 8) as f32 / 16_777_216.0 - 0.5) * 0.5
}

/// Sentences of different lengths for the tiny model: the numbers of their words come from the same hash.
#[must_use]
pub fn sentences(lengths: &[usize]) -> Vec<Vec<u32>> {
    let words = u32::try_from(CONFIGURATION.words).unwrap_or(u32::MAX);
    let word = |sentence: usize, at: usize| {
        let place = u32::try_from(sentence * 1000 + at).unwrap_or(u32::MAX);
        place.wrapping_mul(2_654_435_761).rotate_left(7) % words
    };
    let sentence =
        |(index, length): (usize, &usize)| (0..*length).map(|at| word(index, at)).collect();
    lengths.iter().enumerate().map(sentence).collect()
}
