//! Tests the edge detector on pictures with known edges, and both versions on the photograph.

use pool_facade::prelude::*;

use crate::workload::{LEVELS, Picture, allocating, check, files, pooled};

const SIZE: usize = 64;

fn picture(grey: impl Fn(usize, usize) -> f32) -> Picture<Vec<f32>> {
    let pixels = (0..SIZE * SIZE).map(|index| grey(index % SIZE, index / SIZE)).collect();
    Picture { width: SIZE, height: SIZE, pixels }
}

/// Returns the positions, as (x, y), of the marks in the edge map of the largest level.
fn marks(of: &Picture<Vec<f32>>) -> Vec<(usize, usize)> {
    let edges = &allocating::pyramid(of)[0].edges;
    let marked = (0..SIZE * SIZE).filter(|index| edges.pixels[*index] == 255);
    marked.map(|index| (index % SIZE, index / SIZE)).collect()
}

#[test]
fn a_flat_picture_has_no_edge() {
    assert!(marks(&picture(|_, _| 77.0)).is_empty());
}

#[test]
fn an_upright_step_is_one_line_at_the_step() {
    let found = marks(&picture(|x, _| if x < 20 { 40.0 } else { 200.0 }));
    let column = found[0].0;
    assert!(column == 19 || column == 20, "the step is between 19 and 20, found in {column}");
    let expected: Vec<_> = (1..SIZE - 1).map(|y| (column, y)).collect();
    assert_eq!(found, expected);
}

#[test]
fn a_level_step_is_one_line_at_the_step() {
    let found = marks(&picture(|_, y| if y < 41 { 200.0 } else { 40.0 }));
    let row = found[0].1;
    assert!(row == 40 || row == 41, "the step is between 40 and 41, found in {row}");
    let expected: Vec<_> = (1..SIZE - 1).map(|x| (x, row)).collect();
    assert_eq!(found, expected);
}

#[test]
fn both_diagonals_are_found_along_their_whole_length() {
    let falling = marks(&picture(|x, y| if x < y { 40.0 } else { 200.0 }));
    let rising = marks(&picture(|x, y| if x + y < SIZE { 40.0 } else { 200.0 }));
    for y in 8..SIZE - 8 {
        assert!(falling.iter().any(|mark| mark.1 == y && mark.0.abs_diff(y) <= 1));
        assert!(rising.iter().any(|mark| mark.1 == y && mark.0.abs_diff(SIZE - y) <= 1));
    }
    assert!(falling.iter().all(|mark| mark.0.abs_diff(mark.1) <= 1));
    assert!(rising.iter().all(|mark| (mark.0 + mark.1).abs_diff(SIZE) <= 2));
}

#[test]
fn a_faint_edge_counts_only_where_it_meets_a_steep_one() {
    let faint = |y: usize| if y < 32 { 100.0 } else { 125.0 };
    assert!(marks(&picture(|_, y| faint(y))).is_empty());
    let fading = |x: usize| 25.0 + 75.0 * (SIZE - x) as f32 / SIZE as f32;
    let found = marks(&picture(|x, y| if y < 32 { 100.0 } else { 100.0 + fading(x) }));
    assert!(found.iter().any(|mark| mark.0 > SIZE - 8), "the edge was not followed to the end");
}

#[test]
fn each_level_is_half_the_one_before() {
    let photograph = files::photograph().unwrap();
    assert_eq!((photograph.width, photograph.height), (512, 512));
    let levels = allocating::pyramid(&photograph);
    let widths: Vec<usize> = levels.iter().map(|level| level.picture.width).collect();
    assert_eq!(widths, [512, 256, 128, 64, 32]);
    for level in &levels {
        let mean = level.picture.pixels.iter().sum::<f32>() / level.picture.pixels.len() as f32;
        assert!((mean - 129.0).abs() < 3.0, "blurring and halving preserve the mean, found {mean}");
    }
}

#[test]
fn both_versions_agree_in_every_bit() {
    let photograph = files::photograph().unwrap();
    let expected = allocating::pyramid(&photograph);
    let mut pool = Pool::<Cpu>::new(());
    for _ in 0..2 {
        check(&expected, &pooled::pyramid(&mut pool.scope(), &photograph)).unwrap();
    }
}

#[test]
fn the_check_sees_one_wrong_pixel() {
    let photograph = files::photograph().unwrap();
    let mut expected = allocating::pyramid(&photograph);
    expected[LEVELS - 1].edges.pixels[33] ^= 255;
    let mut pool = Pool::<Cpu>::new(());
    assert!(check(&expected, &pooled::pyramid(&mut pool.scope(), &photograph)).is_err());
}
