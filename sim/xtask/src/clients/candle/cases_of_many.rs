//! Kernels whose threads cooperate or look up elements: sums, sorting and indexing.

#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "sizes are small, and some cases test conversions"
)]

use super::super::driver::{Buffer, Driver, Kernel, Parameters, Shape};
use super::host::{COUNT, ROUNDING, bytes, exact, numbers, singles, sizes, within};
use tasks::TaskError;

/// The number of rows, if the numbers form a matrix.
const ROWS: usize = 3;
const COLUMNS: usize = COUNT / ROWS;
/// The number of threads in a block that reduces.
const THREADS: u32 = 64;
const WARP: u32 = 32;

fn rows(numbers: &[f32]) -> impl Iterator<Item = Vec<f64>> + '_ {
    numbers.chunks_exact(COLUMNS).map(|row| row.iter().map(|x| f64::from(*x)).collect())
}

/// Returns the four parameters of a kernel that reduces rows.
fn reduction(info: &Buffer<'_>) -> Parameters {
    Parameters::default()
        .and((COUNT as u64).to_le_bytes())
        .and((COLUMNS as u64).to_le_bytes())
        .and(2_u64.to_le_bytes())
        .and_buffer(info)
}

/// Returns the reduction of each row, which has four bytes.
fn reduced(driver: &Driver, kernel: &Kernel<'_>, numbers: &[f32]) -> Result<Vec<u8>, TaskError> {
    let columns = COLUMNS as u64;
    let info = driver.upload(&sizes(&[ROWS as u64, columns, columns, 1]))?;
    let input = driver.upload(&singles(numbers))?;
    let output = driver.upload(&[0; ROWS * 4])?;
    let parameters = reduction(&info).and_buffer(&input).and_buffer(&output);
    kernel.run(Shape::row(ROWS as u32, THREADS), &parameters)?;
    output.bytes()
}

pub(super) fn sum(driver: &Driver, kernel: &Kernel<'_>) -> Result<(), TaskError> {
    let numbers = numbers(COUNT);
    let found = reduced(driver, kernel, &numbers)?;
    let sums: Vec<f64> = rows(&numbers).map(|row| row.iter().sum()).collect();
    let magnitude = rows(&numbers).map(|row| row.iter().map(|x| x.abs()).sum::<f64>());
    let greatest = magnitude.fold(0.0, f64::max);
    within(&found, &sums, 0.0, COLUMNS as f64 * ROUNDING * greatest)
}

pub(super) fn least(driver: &Driver, kernel: &Kernel<'_>) -> Result<(), TaskError> {
    let numbers = numbers(COUNT);
    let found = reduced(driver, kernel, &numbers)?;
    let place = |row: Vec<f64>| {
        let least = row.iter().copied().fold(f64::INFINITY, f64::min);
        u32::try_from(row.iter().position(|x| *x == least).unwrap_or(COLUMNS)).unwrap_or(u32::MAX)
    };
    let expected: Vec<u32> = rows(&numbers).map(place).collect();
    exact(&found, &bytes(&expected, u32::to_le_bytes))
}

/// Returns the results of a kernel that processes rows. Its parameters are the source, the
/// destination, further buffers, and further values.
fn of_rows(
    driver: &Driver,
    kernel: &Kernel<'_>,
    shape: Shape,
    numbers: &[f32],
    more: &[Vec<f32>],
    last: fn(Parameters) -> Parameters,
) -> Result<Vec<u8>, TaskError> {
    let input = driver.upload(&singles(numbers))?;
    let output = driver.upload(&[0; COUNT * 4])?;
    let mut parameters = Parameters::default().and_buffer(&input).and_buffer(&output);
    let more = more.iter().map(|values| driver.upload(&singles(values)));
    let more = more.collect::<Result<Vec<_>, _>>()?;
    for buffer in &more {
        parameters = parameters.and_buffer(buffer);
    }
    kernel.run(shape, &last(parameters))?;
    output.bytes()
}

/// Differences from the maximum are below 8, so a rounding error in them counts as 8 in the power.
/// The sum consists of four additions in each thread and five in the warp.
pub(super) fn softmax(driver: &Driver, kernel: &Kernel<'_>) -> Result<(), TaskError> {
    let numbers = numbers(COUNT);
    let shape = Shape { grid: [ROWS as u32, 1, 1], block: [1, WARP, 1], shared: 0 };
    let columns = |parameters: Parameters| parameters.and((COLUMNS as u32).to_le_bytes());
    let found = of_rows(driver, kernel, shape, &numbers, &[], columns)?;
    let of_row = |row: Vec<f64>| {
        let greatest = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let powers: Vec<f64> = row.iter().map(|x| (x - greatest).exp()).collect();
        let sum: f64 = powers.iter().sum();
        powers.into_iter().map(move |power| power / sum).collect::<Vec<_>>()
    };
    let expected: Vec<f64> = rows(&numbers).flat_map(of_row).collect();
    within(&found, &expected, 128.0 * ROUNDING, 0.0)
}

/// The variance is the difference of two numbers of similar size, so rounding errors in them count
/// several times.
pub(super) fn layer_norm(driver: &Driver, kernel: &Kernel<'_>) -> Result<(), TaskError> {
    const EPSILON: f32 = 1e-5;
    let numbers = numbers(COUNT);
    let (scale, shift) = (vec![1.5_f32; COLUMNS], vec![0.25_f32; COLUMNS]);
    let last = |parameters: Parameters| {
        parameters
            .and((COLUMNS as u32).to_le_bytes())
            .and(WARP.to_le_bytes())
            .and(EPSILON.to_le_bytes())
    };
    let shape = Shape::row(ROWS as u32, WARP);
    let found = of_rows(driver, kernel, shape, &numbers, &[scale, shift], last)?;
    let of_row = |row: Vec<f64>| {
        let mean = row.iter().sum::<f64>() / COLUMNS as f64;
        let variance = row.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / COLUMNS as f64;
        let by = 1.0 / (variance + f64::from(EPSILON)).sqrt();
        row.into_iter().map(move |x| ((x - mean) * by).mul_add(1.5, 0.25)).collect::<Vec<_>>()
    };
    let expected: Vec<f64> = rows(&numbers).flat_map(of_row).collect();
    within(&found, &expected, 0.0, 256.0 * ROUNDING)
}

/// Rotary embedding: rotates pairs of elements that are half a head apart by an angle.
pub(super) fn rotation(driver: &Driver, kernel: &Kernel<'_>) -> Result<(), TaskError> {
    /// The number of positions and the size of a head, in each of `ROWS` heads.
    const STEPS: usize = 10;
    const HEAD: usize = COLUMNS / STEPS;
    let numbers = numbers(COUNT);
    let angles: Vec<f64> = (0..STEPS * HEAD / 2).map(|index| index as f64 * 0.37).collect();
    let of = |function: fn(f64) -> f64| -> Vec<f32> {
        angles.iter().map(|angle| function(*angle) as f32).collect()
    };
    let (cosines, sines) = (of(f64::cos), of(f64::sin));
    let upload = |values: &[f32]| driver.upload(&singles(values));
    let (input, cos, sin) = (upload(&numbers)?, upload(&cosines)?, upload(&sines)?);
    let output = driver.upload(&[0; COUNT * 4])?;
    let parameters = Parameters::default()
        .and_buffer(&input)
        .and_buffer(&cos)
        .and_buffer(&sin)
        .and_buffer(&output);
    let sizes = [ROWS as u32, COLUMNS as u32, HEAD as u32, 0];
    let parameters = sizes.iter().fold(parameters, |all, size| all.and(size.to_le_bytes()));
    kernel.run(Shape::row(3, THREADS), &parameters)?;
    let mut expected = vec![0.0; COUNT];
    for pair in 0..COUNT / 2 {
        let (row, inside) = (pair / (COLUMNS / 2), pair % (COLUMNS / 2));
        let first = row * COLUMNS + inside / (HEAD / 2) * HEAD + inside % (HEAD / 2);
        let second = first + HEAD / 2;
        let [x, y] = [first, second].map(|place| f64::from(numbers[place]));
        let [cos, sin] = [&cosines, &sines].map(|table| f64::from(table[inside]));
        expected[first] = x * cos - y * sin;
        expected[second] = x * sin + y * cos;
    }
    within(&output.bytes()?, &expected, 0.0, 16.0 * ROUNDING)
}

/// Sorts with a bitonic network in shared memory, with a barrier in each round.
pub(super) fn sort(driver: &Driver, kernel: &Kernel<'_>) -> Result<(), TaskError> {
    const PADDED: u32 = 128;
    let numbers = numbers(COUNT);
    let last = |parameters: Parameters| {
        parameters.and((COLUMNS as u32).to_le_bytes()).and(PADDED.to_le_bytes())
    };
    let shape = Shape { shared: PADDED * 4, ..Shape::row(ROWS as u32, THREADS) };
    let found = of_rows(driver, kernel, shape, &numbers, &[], last)?;
    let of_row = |row: Vec<f64>| {
        let mut order: Vec<u32> = (0..COLUMNS as u32).collect();
        order.sort_by(|one, other| row[*one as usize].total_cmp(&row[*other as usize]));
        order
    };
    let expected: Vec<u32> = rows(&numbers).flat_map(of_row).collect();
    exact(&found, &bytes(&expected, u32::to_le_bytes))
}

/// The rows that the indices select. One row is selected twice.
const CHOSEN: [u32; 4] = [2, 0, 1, 2];

pub(super) fn select(driver: &Driver, kernel: &Kernel<'_>) -> Result<(), TaskError> {
    let numbers = numbers(COUNT);
    let (rows, columns, chosen) = (ROWS as u64, COLUMNS as u64, CHOSEN.len() as u64);
    let info = driver.upload(&sizes(&[rows, columns, columns, 1]))?;
    let indices = driver.upload(&bytes(&CHOSEN, u32::to_le_bytes))?;
    let input = driver.upload(&singles(&numbers))?;
    let output = driver.upload(&[0; CHOSEN.len() * COLUMNS * 4])?;
    let parameters = Parameters::default()
        .and((chosen * columns).to_le_bytes())
        .and(2_u64.to_le_bytes())
        .and_buffer(&info)
        .and_buffer(&indices)
        .and_buffer(&input)
        .and_buffer(&output);
    let sizes = [1, rows, chosen, columns];
    let parameters = sizes.iter().fold(parameters, |all, size| all.and(size.to_le_bytes()));
    kernel.run(Shape::row(2, THREADS), &parameters)?;
    let row = |index: &u32| numbers[*index as usize * COLUMNS..][..COLUMNS].to_vec();
    exact(&output.bytes()?, &singles(&CHOSEN.iter().flat_map(row).collect::<Vec<_>>()))
}

pub(super) fn index_add(driver: &Driver, kernel: &Kernel<'_>) -> Result<(), TaskError> {
    let numbers = numbers(COUNT + CHOSEN.len() * COLUMNS);
    let (before, added) = numbers.split_at(COUNT);
    let (rows, columns, chosen) = (ROWS as u64, COLUMNS as u64, CHOSEN.len() as u64);
    let indices = driver.upload(&bytes(&CHOSEN, u32::to_le_bytes))?;
    let (input, output) = (driver.upload(&singles(added))?, driver.upload(&singles(before))?);
    let parameters = Parameters::default()
        .and_buffer(&indices)
        .and(chosen.to_le_bytes())
        .and_buffer(&input)
        .and_buffer(&output);
    let sizes = [1, chosen, rows, columns];
    let parameters = sizes.iter().fold(parameters, |all, size| all.and(size.to_le_bytes()));
    kernel.run(Shape::row(2, THREADS), &parameters)?;
    let mut expected = before.to_vec();
    for (index, row) in CHOSEN.iter().zip(added.chunks_exact(COLUMNS)) {
        let place = &mut expected[*index as usize * COLUMNS..][..COLUMNS];
        place.iter_mut().zip(row).for_each(|(sum, x)| *sum += x);
    }
    exact(&output.bytes()?, &singles(&expected))
}

/// Copies a part of each row to a destination whose rows are closer together.
pub(super) fn copy(driver: &Driver, kernel: &Kernel<'_>) -> Result<(), TaskError> {
    const PART: usize = COLUMNS - 7;
    let numbers = numbers(COUNT);
    let input = driver.upload(&singles(&numbers))?;
    let output = driver.upload(&[0; ROWS * PART * 4])?;
    let parameters = Parameters::default().and_buffer(&input).and_buffer(&output);
    let sizes = [ROWS as u32, PART as u32, COLUMNS as u32, PART as u32];
    let parameters = sizes.iter().fold(parameters, |all, size| all.and(size.to_le_bytes()));
    kernel.run(Shape::row(5, THREADS), &parameters)?;
    let expected: Vec<f32> =
        numbers.chunks_exact(COLUMNS).flat_map(|row| row[..PART].to_vec()).collect();
    exact(&output.bytes()?, &singles(&expected))
}
