//! Points on B-splines: `BSpline<T, F>` has control points of any `T: Copy` that can be
//! interpolated. Each computed point allocates a short-lived `Vec<T>` of `degree + 1` of them.

use std::ops::{Add, Mul};
use std::process::ExitCode;

use adoption_measure::{Case, run};

/// The points of one call.
const POINTS: u32 = 1_000;
/// The control points of a curve.
const CONTROLS: u16 = 40;

/// A control point with padding, which `T: Copy` allows and plain data does not.
#[derive(Clone, Copy, Debug)]
struct Weighted {
    position: [f32; 3],
    weight: f64,
}

impl Mul<f32> for Weighted {
    type Output = Self;

    fn mul(self, factor: f32) -> Self {
        let position = self.position.map(|coordinate| coordinate * factor);
        Self { position, weight: self.weight * f64::from(factor) }
    }
}

impl Add for Weighted {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        let [x, y, z] = self.position;
        let [dx, dy, dz] = other.position;
        Self { position: [x + dx, y + dy, z + dz], weight: self.weight + other.weight }
    }
}

/// Returns control points that are not on a line, the same each time.
fn numbers() -> impl Iterator<Item = f32> {
    (0..CONTROLS).map(|index| f32::from(index * 31 % 17) - 8.0)
}

fn weighted() -> Vec<Weighted> {
    let point = |x: f32| Weighted { position: [x, 1.0 - x, x * x], weight: f64::from(x) + 9.0 };
    numbers().map(point).collect()
}

fn knots(degree: usize) -> Vec<f32> {
    (0..CONTROLS + u16::try_from(degree).unwrap_or(0) + 1).map(f32::from).collect()
}

/// Returns the parameters of the points, from the start of the curve to its end.
fn parameters((start, end): (f32, f32)) -> impl Iterator<Item = f32> {
    let step = (end - start) / POINTS as f32;
    (0..POINTS).map(move |index| start + step * index as f32)
}

/// The same loop over the curve of any of the crates.
macro_rules! points {
    ($version:ident, $controls:expr, $degree:expr) => {{
        let curve = $version::BSpline::new($degree, $controls, knots($degree));
        move || parameters(curve.knot_domain()).map(|t| curve.point(t)).collect::<Vec<_>>()
    }};
}

macro_rules! case {
    ($name:literal, $degree:literal, $controls:expr, $bits:expr) => {
        Case::new(format!("{}, degree {}, {POINTS} points", $name, $degree))
            .version("original", points!(original, $controls, $degree), $bits)
            .version("pool", points!(pool, $controls, $degree), $bits)
            .version("bumpalo", points!(bumpalo, $controls, $degree), $bits)
            .version("bump-scope", points!(bump_scope, $controls, $degree), $bits)
            .version("kept", points!(kept, $controls, $degree), $bits)
    };
}

fn main() -> ExitCode {
    let of_numbers = |points: &Vec<f32>| points.iter().map(|x| u64::from(x.to_bits())).collect();
    let of_weighted = |points: &Vec<Weighted>| {
        let bits = |point: &Weighted| {
            let [x, y, z] = point.position.map(|coordinate| u64::from(coordinate.to_bits()));
            [x, y, z, point.weight.to_bits()]
        };
        points.iter().flat_map(bits).collect()
    };
    run(vec![
        case!("f32", 3, numbers().collect(), of_numbers),
        case!("f32", 9, numbers().collect(), of_numbers),
        case!("a struct with padding", 3, weighted(), of_weighted),
        case!("a struct with padding", 9, weighted(), of_weighted),
    ])
}
