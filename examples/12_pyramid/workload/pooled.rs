//! The pooled version. Every temporary picture is acquired from a scope. Each level opens an inner
//! scope, so the next level's temporaries reuse the same memory. Results are acquired in advance,
//! from the outer scope.

use std::array;

use pool_facade::prelude::*;

use super::picture::{fill_weights, weight_count};
use super::{BLUR, HIGH, LEVELS, LOW, Level, Picture, Pixels, SliceStack};

type Greys<'s> = Picture<&'s mut [f32]>;
type Marks<'s> = Picture<&'s mut [u8]>;

/// Returns all levels of the pyramid, starting with the largest.
pub(crate) fn pyramid<'s>(
    scope: &mut Scope<'s, Cpu>,
    photograph: &Picture<impl Pixels<f32>>,
) -> [Level<&'s mut [f32], &'s mut [u8]>; LEVELS] {
    let mut levels = array::from_fn(|level| {
        let (width, height) = (photograph.width >> level, photograph.height >> level);
        let edges = Picture { width, height, pixels: scope.acquire(width * height) };
        Level { picture: greys(scope, width, height), edges }
    });
    levels[0].picture.pixels.copy_from_slice(&photograph.pixels);

    let mut rest = levels.as_mut_slice();
    while let Some((level, smaller)) = rest.split_first_mut() {
        let temporaries = scope.scope();
        let smooth = blur(&temporaries, &level.picture);
        mark_edges(&temporaries, &smooth, &mut level.edges);
        if let Some(next) = smaller.first_mut() {
            next.picture.fill_half(&smooth);
        }
        rest = smaller;
    }
    levels
}

fn blur<'s>(scope: &Scope<'s, Cpu>, picture: &Picture<impl Pixels<f32>>) -> Greys<'s> {
    let weights = scope.acquire(weight_count(BLUR));
    fill_weights(weights, BLUR);
    let padded = scope.acquire(picture.width + weights.len() - 1);
    let mut rows = greys(scope, picture.width, picture.height);
    rows.fill_blurred_rows(picture, weights, padded);
    let mut smooth = greys(scope, picture.width, picture.height);
    smooth.fill_blurred_columns(&rows, weights);
    smooth
}

fn mark_edges(scope: &Scope<'_, Cpu>, smooth: &Greys<'_>, edges: &mut Marks<'_>) {
    let (width, height) = (smooth.width, smooth.height);
    let mut horizontal = greys(scope, width, height);
    horizontal.fill_horizontal_gradient(smooth);
    let mut vertical = greys(scope, width, height);
    vertical.fill_vertical_gradient(smooth);
    let mut steepness = greys(scope, width, height);
    steepness.fill_steepness(&horizontal, &vertical);
    let mut ridges = greys(scope, width, height);
    ridges.fill_ridges(&steepness, &horizontal, &vertical);

    let mut waiting = SliceStack { pixels: scope.acquire(width * height), length: 0 };
    edges.fill_traced(&ridges, LOW, HIGH, &mut waiting);
}

fn greys<'s>(scope: &Scope<'s, Cpu>, width: usize, height: usize) -> Greys<'s> {
    Picture { width, height, pixels: scope.acquire(width * height) }
}
