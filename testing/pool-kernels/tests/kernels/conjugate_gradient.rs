//! Kernels together: the method of conjugate gradients, an iteration captured once and replayed.
//!
//! No scalar leaves the device. The matrix has 4 on its diagonal and -1 beside it, so its
//! eigenvalues are between 2 and 6, and its condition κ is below 3. After k iterations the error,
//! in the norm of the matrix, is at most 2ρᵏ of the first one, with ρ = (√κ - 1) / (√κ + 1) (Saad,
//! *Iterative Methods for Sparse Linear Systems*, 2003, section 6.11.3). The residual, in the
//! Euclidean norm, is at most √κ times that.

use cudarc::driver::CudaFunction;
use pool_kernels::elementwise::{AXPY_RATIO, COPY, FILL, XPAY_RATIO};
use pool_kernels::reduction::DOT;
use pool_kernels::sparse::SPMV;
use pool_kernels::{Launch, elementwise, reduction, sparse};

use crate::cases::number;
use crate::gpu::{Argument, Array, Gpu};

const UNKNOWNS: usize = 500;
const ITERATIONS: i32 = 20;
/// The same for every kernel; kernels of one number have one.
const WORD: Argument = Argument::Word(UNKNOWNS as u64);
const ONE: Argument = Argument::Word(1);

/// Returns columns and values of a row.
fn row(row: usize) -> impl Iterator<Item = (usize, f64)> {
    let columns = row.saturating_sub(1)..=(row + 1).min(UNKNOWNS - 1);
    columns.map(move |column| (column, if column == row { 4.0 } else { -1.0 }))
}

/// The kernels of an iteration, and their arrays.
struct Solver<'g> {
    gpu: &'g Gpu,
    spmv: CudaFunction,
    dot: CudaFunction,
    fill: CudaFunction,
    copy: CudaFunction,
    axpy_ratio: CudaFunction,
    xpay_ratio: CudaFunction,
    values: Array<f64>,
    columns: Array<u32>,
    starts: Array<u32>,
    solution: Array<f64>,
    residual: Array<f64>,
    direction: Array<f64>,
    image: Array<f64>,
    square: Array<f64>,
    new_square: Array<f64>,
    curvature: Array<f64>,
}

impl<'g> Solver<'g> {
    /// Starts from the solution 0, so the residual is the right side.
    fn new(gpu: &'g Gpu, right: &[f64]) -> Self {
        let rows: Vec<Vec<(usize, f64)>> = (0..UNKNOWNS).map(|at| row(at).collect()).collect();
        let index = |at: usize| u32::try_from(at).unwrap();
        let columns: Vec<u32> = rows.iter().flatten().map(|(column, _)| index(*column)).collect();
        let values: Vec<f64> = rows.iter().flatten().map(|(_, value)| *value).collect();
        let mut starts = vec![0];
        for row in &rows {
            starts.push(starts.last().unwrap() + index(row.len()));
        }
        let square = right.iter().map(|number| number * number).sum::<f64>();
        let zeros = vec![0.0; UNKNOWNS];
        Self {
            gpu,
            spmv: gpu.kernel(SPMV.f64),
            dot: gpu.kernel(DOT.f64),
            fill: gpu.kernel(FILL.f64),
            copy: gpu.kernel(COPY.f64),
            axpy_ratio: gpu.kernel(AXPY_RATIO.f64),
            xpay_ratio: gpu.kernel(XPAY_RATIO.f64),
            values: gpu.upload(&values, 0),
            columns: gpu.upload(&columns, 0),
            starts: gpu.upload(&starts, 0),
            solution: gpu.upload(&zeros, 0),
            residual: gpu.upload(right, 0),
            direction: gpu.upload(right, 0),
            image: gpu.upload(&zeros, 0),
            square: gpu.upload(&[square], 0),
            new_square: gpu.upload(&[0.0], 0),
            curvature: gpu.upload(&[0.0], 0),
        }
    }

    fn all(&self, kernel: &CudaFunction, arguments: &[Argument]) {
        self.gpu.launch(kernel, Launch::over_elements(UNKNOWNS), arguments);
    }

    /// Computes the product of two vectors, from 0.
    fn product(&self, to: &Array<f64>, x: &Array<f64>, y: &Array<f64>) {
        let zero = [to.argument(), Argument::Double(0.0), ONE];
        self.gpu.launch(&self.fill, Launch::over_elements(1), &zero);
        self.all(&self.dot, &[x.argument(), y.argument(), to.argument(), WORD]);
    }

    /// Computes `to += sign * square / curvature * along`.
    fn step(&self, sign: f64, along: &Array<f64>, to: &Array<f64>) {
        let ratio = [self.square.argument(), self.curvature.argument(), Argument::Double(sign)];
        self.all(
            &self.axpy_ratio,
            &[&ratio[..], &[along.argument(), to.argument(), WORD]].concat(),
        );
    }

    fn iterate(&self) {
        let matrix = [self.values.argument(), self.columns.argument(), self.starts.argument()];
        let vectors = [self.direction.argument(), self.image.argument(), WORD];
        self.all(&self.spmv, &[matrix, vectors].concat());
        self.product(&self.curvature, &self.direction, &self.image);
        self.step(1.0, &self.direction, &self.solution);
        self.step(-1.0, &self.image, &self.residual);
        self.product(&self.new_square, &self.residual, &self.residual);
        let ratio = [self.new_square.argument(), self.square.argument()];
        let vectors = [self.residual.argument(), self.direction.argument(), WORD];
        self.all(&self.xpay_ratio, &[&ratio[..], &vectors[..]].concat());
        let squares = [self.new_square.argument(), self.square.argument(), ONE];
        self.gpu.launch(&self.copy, Launch::over_elements(1), &squares);
    }
}

fn norm(vector: impl Iterator<Item = f64>) -> f64 {
    vector.map(|number| number * number).sum::<f64>().sqrt()
}

#[test]
#[ignore = "needs a CUDA device"]
fn a_captured_iteration_converges() {
    let gpu = Gpu::open_with(&[elementwise::MODULE, reduction::MODULE, sparse::MODULE]);
    let mut random = fastrand::Rng::with_seed(0);
    let right: Vec<f64> = (0..UNKNOWNS).map(|_| number(&mut random)).collect();
    let solver = Solver::new(&gpu, &right);
    // Drivers load code lazily, which a capture forbids; this is the first iteration.
    solver.iterate();
    let graph = gpu.capture(|| solver.iterate());
    for _ in 1..ITERATIONS {
        graph.launch().unwrap();
    }

    let solution = gpu.download(&solver.solution).unwrap();
    let image = |at: usize| row(at).map(|(column, value)| value * solution[column]).sum::<f64>();
    let residual = norm((0..UNKNOWNS).map(|at| right[at] - image(at)));
    let root = 3.0_f64.sqrt();
    let rate = (root - 1.0) / (root + 1.0);
    let most = root * 2.0 * rate.powi(ITERATIONS) * norm(right.iter().copied());
    println!("residual {residual:e}, at most {most:e}");
    // Rounding adds some units of 10^-16, far below.
    assert!(residual <= most && residual > 0.0, "{residual:e} is above {most:e}");
    gpu.close();
}
