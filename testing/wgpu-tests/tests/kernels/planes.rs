//! The stencil, and the convolutions.

use pool_core::{Pool, PoolView};
use pool_kernels::wgsl::{
    CONVOLVE, CONVOLVE_COLUMNS, CONVOLVE_ROWS, ConvolutionParameters, STENCIL, StencilParameters,
    workgroups_over_plane,
};
use pool_wgpu::Wgpu;

use crate::bounds::{Reference, Sum, assert_within, numbers};
use crate::device::{Compiled, stream};

/// Columns and rows: lines, planes around a workgroup of 8 by 8, and larger ones.
const SHAPES: [(u32, u32); 10] =
    [(1, 1), (1, 63), (65, 1), (2, 2), (7, 9), (8, 8), (9, 7), (64, 64), (63, 65), (257, 255)];

/// A row-major plane, with reads beyond its border.
#[derive(Clone, Copy)]
struct Plane<'a> {
    width: u32,
    height: u32,
    points: &'a [f32],
}

impl Plane<'_> {
    fn len(&self) -> usize {
        self.points.len()
    }

    /// Returns a point, or `None` outside.
    fn get(&self, x: i64, y: i64) -> Option<f64> {
        let (x, y) = (u32::try_from(x).ok()?, u32::try_from(y).ok()?);
        let is_within = x < self.width && y < self.height;
        is_within.then(|| f64::from(self.points[(y * self.width + x) as usize]))
    }

    /// Returns the point, or the nearest one within.
    fn nearest(&self, x: i64, y: i64) -> f64 {
        let (width, height) = (i64::from(self.width), i64::from(self.height));
        self.get(x.clamp(0, width - 1), y.clamp(0, height - 1)).unwrap()
    }

    /// Maps each place by `point`, row by row.
    fn map(
        self,
        point: impl Fn(i64, i64) -> Reference,
    ) -> impl ExactSizeIterator<Item = Reference> {
        (0..self.len()).map(move |at| {
            let (at, width) = (i64::try_from(at).unwrap(), i64::from(self.width));
            point(at % width, at / width)
        })
    }
}

#[test]
fn stencil() {
    let Some((stream, _quiet)) = stream() else { return };
    let stencil = Compiled::new(&stream, &STENCIL);
    let mut pool = Pool::<Wgpu>::new(stream);
    let (centre, neighbour) = (4.0_f32, -0.9_f32);
    for (width, height) in SHAPES {
        let points = numbers((width * height) as usize, 5);
        let plane = Plane { width, height, points: &points };
        let parameters = StencilParameters { width, height, centre, neighbour };
        for workgroups in [workgroups_over_plane(width, height), [3, 2, 1]] {
            let scope = pool.scope();
            let from = scope.acquire_from(&points);
            let mut to = scope.acquire_filled(points.len(), f32::NAN);
            let bindings = [from.binding().unwrap(), to.binding_mut().unwrap()];
            stencil.dispatch(&bindings, &parameters, workgroups);
            // The first neighbour is added to 0, exactly, and then to three others. Their sum is
            // multiplied, and added to the centre's product.
            let expected = plane.map(|x, y| {
                let around = [(x - 1, y), (x + 1, y), (x, y - 1), (x, y + 1)];
                let neighbours = around.into_iter().map(|(x, y)| plane.get(x, y).unwrap_or(0.0));
                let mut sum = Sum::of(neighbours.map(|point| f64::from(neighbour) * point));
                sum.add(f64::from(centre) * plane.nearest(x, y));
                sum.rounded(3 + 1 + 1)
            });
            let what = format!("stencil on {width} × {height} by {workgroups:?}");
            assert_within(&what, &to.copy_to_vec().unwrap(), expected);
        }
    }
}

/// Returns the results of a kernel, or of two in sequence, with weights of a radius.
fn convolved(
    pool: &mut Pool<Wgpu>,
    plane: Plane<'_>,
    passes: &[(&Compiled, &[f32])],
    radius: u32,
    workgroups: [u32; 3],
) -> Vec<f32> {
    let Plane { width, height, .. } = plane;
    let parameters = ConvolutionParameters { width, height, radius };
    let scope = pool.scope();
    let mut from = scope.acquire_from(plane.points);
    for (kernel, weights) in passes {
        let weights = scope.acquire_from(weights);
        let mut to = scope.acquire_filled(plane.len(), f32::NAN);
        let bindings =
            [from.binding().unwrap(), weights.binding().unwrap(), to.binding_mut().unwrap()];
        kernel.dispatch(&bindings, &parameters, workgroups);
        from = to;
    }
    from.copy_to_vec().unwrap()
}

/// Returns planes with radii. Some radii extend beyond the plane on both sides.
fn cases() -> impl Iterator<Item = (u32, u32, u32)> {
    SHAPES.into_iter().flat_map(|(width, height)| [0, 1, 3].map(|radius| (width, height, radius)))
}

#[test]
fn convolution_with_a_square() {
    let Some((stream, _quiet)) = stream() else { return };
    let convolve = Compiled::new(&stream, &CONVOLVE);
    let mut pool = Pool::<Wgpu>::new(stream);
    for (width, height, radius) in cases() {
        let points = numbers((width * height) as usize, 6);
        let plane = Plane { width, height, points: &points };
        let side = 2 * radius + 1;
        let weights = numbers((side * side) as usize, 7);
        // Each product is rounded, and added to at most all others: the first to 0, exactly.
        let expected = |x, y| {
            let terms = (0..i64::from(side))
                .flat_map(|row| (0..i64::from(side)).map(move |column| (row, column)));
            let reach = i64::from(radius);
            Sum::of(terms.map(|(row, column)| {
                let weight =
                    f64::from(weights[usize::try_from(row * i64::from(side) + column).unwrap()]);
                weight * plane.nearest(x + column - reach, y + row - reach)
            }))
            .rounded(side * side)
        };
        for workgroups in [workgroups_over_plane(width, height), [2, 3, 1]] {
            let passes = [(&convolve, &*weights)];
            let results = convolved(&mut pool, plane, &passes, radius, workgroups);
            let what = format!("radius {radius} on {width} × {height} by {workgroups:?}");
            assert_within(&what, &results, plane.map(expected));
        }
    }
}

#[test]
fn convolution_along_rows_and_then_along_columns() {
    let Some((stream, _quiet)) = stream() else { return };
    let rows = Compiled::new(&stream, &CONVOLVE_ROWS);
    let columns = Compiled::new(&stream, &CONVOLVE_COLUMNS);
    let mut pool = Pool::<Wgpu>::new(stream);
    for (width, height, radius) in cases() {
        let points = numbers((width * height) as usize, 8);
        let plane = Plane { width, height, points: &points };
        let side = 2 * radius + 1;
        let (across, down) = (numbers(side as usize, 9), numbers(side as usize, 10));
        // The product of weights itself is exact in double precision. In each of the two passes a
        // term is multiplied, and added to at most all others.
        let expected = |x, y| {
            let mut sum = Sum::default();
            for (row, upright) in (-i64::from(radius)..).zip(&down) {
                for (column, level) in (-i64::from(radius)..).zip(&across) {
                    let weight = f64::from(*upright) * f64::from(*level);
                    sum.add(weight * plane.nearest(x + column, y + row));
                }
            }
            sum.rounded(2 * side)
        };
        for workgroups in [workgroups_over_plane(width, height), [2, 3, 1]] {
            let passes = [(&rows, &*across), (&columns, &*down)];
            let results = convolved(&mut pool, plane, &passes, radius, workgroups);
            let what = format!("radius {radius}, twice, on {width} × {height} by {workgroups:?}");
            assert_within(&what, &results, plane.map(expected));
        }
    }
}
