//! Kernels that use one thread for each element, compared with the host's computation.

#![expect(
    clippy::cast_possible_truncation,
    reason = "sizes are small, and some cases test conversions"
)]

use super::super::driver::{Driver, Kernel, Parameters, Shape};
use super::cases_of_many as many;
use super::host::{COUNT, ROUNDING, bytes, exact, numbers, singles, sizes, within};
use tasks::TaskError;

/// A kernel to run and check.
#[derive(Clone, Copy, Debug)]
pub(super) struct Case {
    pub(super) source: &'static str,
    pub(super) kernel: &'static str,
    /// The property that is compared, and its precision.
    pub(super) what: &'static str,
    pub(super) run: fn(&Driver, &Kernel<'_>) -> Result<(), TaskError>,
}

/// All cases of this kind.
pub(super) const CASES: [Case; 18] = [
    case("affine", "affine_f32", "fused, bit for bit", affine),
    case("binary", "badd_f32", "one side transposed, bit for bit", add),
    case("unary", "usqrt_f32", "bit for bit", square_root),
    case("unary", "uexp_f32", "within 2 units in the last place", exponential),
    case("unary", "ugelu_f32", "within 8 roundings and 2^-22", gelu),
    case("ternary", "where_u8_f32", "bit for bit", choice),
    case("cast", "cast_f32_bf16", "rounded to even, bit for bit", brain),
    case("cast", "cast_f64_f32", "bit for bit", narrow),
    case("cast", "cast_f32_i64", "bit for bit", whole),
    case("fill", "copy2d_f32", "bit for bit", many::copy),
    case("reduce", "fast_sum_f32", "one rounding per addition", many::sum),
    case("reduce", "fast_argmin_f32", "the same places", many::least),
    case("reduce", "softmax_f32", "within 2^-17, relatively", many::softmax),
    case("reduce", "layernorm_f32", "within 2^-16", many::layer_norm),
    case("reduce", "rope_f32", "within 2^-20", many::rotation),
    case("sort", "asort_asc_f32", "the same order", many::sort),
    case("indexing", "is_u32_f32", "bit for bit", many::select),
    case("indexing", "ia_u32_f32", "sums in order, bit for bit", many::index_add),
];

const fn case(
    source: &'static str,
    kernel: &'static str,
    what: &'static str,
    run: fn(&Driver, &Kernel<'_>) -> Result<(), TaskError>,
) -> Case {
    Case { source, kernel, what, run }
}

const THREADS: u32 = 64;

/// Returns a shape with so few threads that some of them process several elements.
fn shape() -> Shape {
    Shape::row(3, THREADS)
}

/// Returns the first parameters that most kernels take: the number of elements and, as for
/// contiguous tensors, no dimensions.
fn contiguous() -> Parameters {
    Parameters::default()
        .and((COUNT as u64).to_le_bytes())
        .and(0_u64.to_le_bytes())
        .and(0_u64.to_le_bytes())
}

fn affine(driver: &Driver, kernel: &Kernel<'_>) -> Result<(), TaskError> {
    let (numbers, factor, summand) = (numbers(COUNT), 1.7_f32, -0.3_f32);
    let input = driver.upload(&singles(&numbers))?;
    let output = driver.upload(&[0; COUNT * 4])?;
    let parameters = contiguous()
        .and_buffer(&input)
        .and_buffer(&output)
        .and(factor.to_le_bytes())
        .and(summand.to_le_bytes());
    kernel.run(shape(), &parameters)?;
    let expected: Vec<f32> = numbers.iter().map(|x| x.mul_add(factor, summand)).collect();
    exact(&output.bytes()?, &singles(&expected))
}

/// Adds a matrix to the transpose of another matrix.
fn add(driver: &Driver, kernel: &Kernel<'_>) -> Result<(), TaskError> {
    const ROWS: usize = 12;
    const COLUMNS: usize = COUNT / ROWS;
    let numbers = numbers(2 * COUNT);
    let (left, right) = numbers.split_at(COUNT);
    let (rows, columns) = (ROWS as u64, COLUMNS as u64);
    let info = driver.upload(&sizes(&[rows, columns, columns, 1, 1, rows]))?;
    let (lhs, rhs) = (driver.upload(&singles(left))?, driver.upload(&singles(right))?);
    let output = driver.upload(&[0; COUNT * 4])?;
    let parameters = Parameters::default()
        .and((COUNT as u64).to_le_bytes())
        .and(2_u64.to_le_bytes())
        .and_buffer(&info)
        .and_buffer(&lhs)
        .and_buffer(&rhs)
        .and_buffer(&output);
    kernel.run(shape(), &parameters)?;
    let of = |index: usize| left[index] + right[index / COLUMNS + index % COLUMNS * ROWS];
    exact(&output.bytes()?, &singles(&(0..COUNT).map(of).collect::<Vec<_>>()))
}

/// Returns the results of a kernel that takes one tensor, for these numbers.
fn unary(driver: &Driver, kernel: &Kernel<'_>, numbers: &[f32]) -> Result<Vec<u8>, TaskError> {
    mapped::<4>(driver, kernel, &singles(numbers))
}

/// Returns the results of a kernel that maps the elements of one tensor, each `BYTES` bytes long.
fn mapped<const BYTES: usize>(
    driver: &Driver,
    kernel: &Kernel<'_>,
    elements: &[u8],
) -> Result<Vec<u8>, TaskError> {
    let input = driver.upload(elements)?;
    let output = driver.upload(&vec![0; COUNT * BYTES])?;
    kernel.run(shape(), &contiguous().and_buffer(&input).and_buffer(&output))?;
    output.bytes()
}

fn square_root(driver: &Driver, kernel: &Kernel<'_>) -> Result<(), TaskError> {
    let numbers: Vec<f32> = numbers(COUNT).iter().map(|x| x.abs()).collect();
    let expected: Vec<f32> = numbers.iter().map(|x| x.sqrt()).collect();
    exact(&unary(driver, kernel, &numbers)?, &singles(&expected))
}

/// The error bound is the one that CUDA's manual states for `expf`.
fn exponential(driver: &Driver, kernel: &Kernel<'_>) -> Result<(), TaskError> {
    let numbers = numbers(COUNT);
    let expected: Vec<f64> = numbers.iter().map(|x| f64::from(*x).exp()).collect();
    within(&unary(driver, kernel, &numbers)?, &expected, 4.0 * ROUNDING, 0.0)
}

/// The sum in this function cancels for negative numbers, so the bound has an absolute part.
fn gelu(driver: &Driver, kernel: &Kernel<'_>) -> Result<(), TaskError> {
    let numbers = numbers(COUNT);
    let of = |x: f64| {
        let inner = (2.0 / std::f64::consts::PI).sqrt() * (0.044_715 * x * x).mul_add(x, x);
        0.5 * x * (1.0 + inner.tanh())
    };
    let expected: Vec<f64> = numbers.iter().map(|x| of(f64::from(*x))).collect();
    within(&unary(driver, kernel, &numbers)?, &expected, 8.0 * ROUNDING, 4.0 * 4.0 * ROUNDING)
}

fn choice(driver: &Driver, kernel: &Kernel<'_>) -> Result<(), TaskError> {
    let numbers = numbers(2 * COUNT);
    let (yes, no) = numbers.split_at(COUNT);
    let chosen: Vec<u8> = yes.iter().map(|x| u8::from(*x > 0.5)).collect();
    let parts = [chosen.clone(), singles(yes), singles(no), vec![0; COUNT * 4]];
    let parts = parts.map(|bytes| driver.upload(&bytes));
    let info = driver.upload(&sizes(&[COUNT as u64, 1, 1, 1]))?;
    let mut parameters = Parameters::default()
        .and((COUNT as u64).to_le_bytes())
        .and(1_u64.to_le_bytes())
        .and_buffer(&info);
    let [ids, first, second, output] = parts;
    let (ids, first, second, output) = (ids?, first?, second?, output?);
    for buffer in [&ids, &first, &second, &output] {
        parameters = parameters.and_buffer(buffer);
    }
    kernel.run(shape(), &parameters)?;
    let of = |index: usize| if chosen[index] == 1 { yes[index] } else { no[index] };
    exact(&output.bytes()?, &singles(&(0..COUNT).map(of).collect::<Vec<_>>()))
}

fn brain(driver: &Driver, kernel: &Kernel<'_>) -> Result<(), TaskError> {
    let numbers = numbers(COUNT);
    let of = |x: &f32| {
        let bits = x.to_bits();
        let [_, _, low, high] = (bits + 0x7FFF + (bits >> 16 & 1)).to_le_bytes();
        [low, high]
    };
    let expected: Vec<u8> = numbers.iter().flat_map(of).collect();
    exact(&mapped::<2>(driver, kernel, &singles(&numbers))?, &expected)
}

fn narrow(driver: &Driver, kernel: &Kernel<'_>) -> Result<(), TaskError> {
    let wide: Vec<f64> = numbers(COUNT).iter().map(|x| f64::from(*x) / 3.0).collect();
    let expected: Vec<f32> = wide.iter().map(|x| *x as f32).collect();
    exact(&mapped::<4>(driver, kernel, &bytes(&wide, f64::to_le_bytes))?, &singles(&expected))
}

fn whole(driver: &Driver, kernel: &Kernel<'_>) -> Result<(), TaskError> {
    let numbers: Vec<f32> = numbers(COUNT).iter().map(|x| x * 1e6).collect();
    let expected: Vec<i64> = numbers.iter().map(|x| *x as i64).collect();
    let found = mapped::<8>(driver, kernel, &singles(&numbers))?;
    exact(&found, &bytes(&expected, i64::to_le_bytes))
}
