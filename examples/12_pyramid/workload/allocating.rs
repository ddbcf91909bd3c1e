//! The allocating version. Every temporary picture is a new `Vec`, as in a first draft.

use super::picture::{fill_weights, weight_count};
use super::{BLUR, HIGH, LEVELS, LOW, Level, Picture, Pixels};

type Greys = Picture<Vec<f32>>;

/// Returns all levels of the pyramid, starting with the largest.
pub(crate) fn pyramid(photograph: &Greys) -> Vec<Level<Vec<f32>, Vec<u8>>> {
    let mut levels = Vec::new();
    let mut picture = photograph.clone();
    while levels.len() + 1 < LEVELS {
        let smooth = blur(&picture);
        let smaller = half(&smooth);
        levels.push(Level { edges: edges(&smooth), picture });
        picture = smaller;
    }
    levels.push(Level { edges: edges(&blur(&picture)), picture });
    levels
}

fn blur(picture: &Picture<impl Pixels<f32>>) -> Greys {
    let mut weights = vec![0.0; weight_count(BLUR)];
    fill_weights(&mut weights, BLUR);
    let mut padded = vec![0.0; picture.width + weights.len() - 1];
    let mut rows = greys(picture.width, picture.height);
    rows.fill_blurred_rows(picture, &weights, &mut padded);
    let mut smooth = greys(picture.width, picture.height);
    smooth.fill_blurred_columns(&rows, &weights);
    smooth
}

fn edges(smooth: &Greys) -> Picture<Vec<u8>> {
    let (width, height) = (smooth.width, smooth.height);
    let mut horizontal = greys(width, height);
    horizontal.fill_horizontal_gradient(smooth);
    let mut vertical = greys(width, height);
    vertical.fill_vertical_gradient(smooth);
    let mut steepness = greys(width, height);
    steepness.fill_steepness(&horizontal, &vertical);
    let mut ridges = greys(width, height);
    ridges.fill_ridges(&steepness, &horizontal, &vertical);

    let mut edges = Picture { width, height, pixels: vec![0; width * height] };
    edges.fill_traced(&ridges, LOW, HIGH, &mut Vec::new());
    edges
}

fn half(smooth: &Greys) -> Greys {
    let mut smaller = greys(smooth.width / 2, smooth.height / 2);
    smaller.fill_half(smooth);
    smaller
}

fn greys(width: usize, height: usize) -> Greys {
    Picture { width, height, pixels: vec![0.0; width * height] }
}
