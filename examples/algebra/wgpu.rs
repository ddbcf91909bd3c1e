//! The algebra on a wgpu device. Each operation records one kernel into the stream of the scope's
//! pool.

use pool_facade::Scope;
use pool_wgpu::{Access, Binding, BufferView, BufferViewMut, Kernel, Stream, Wgpu};

use super::arithmetic::{Algebra, Failure, length_of_all};
use super::matrix::Matrix;
use super::number::{Number, Precision};
use super::target::Computation;

/// Runs a computation on the adapter that wgpu finds.
pub(super) fn run<C: Computation>(
    computation: &C,
    precision: Precision,
) -> Result<C::Answer, Failure> {
    let stream = open(precision)?;
    let kernels = Kernels::load(&stream, precision)?;
    match precision {
        Precision::F32 => computation.run::<Wgpu, f32, _>(&kernels, stream),
        Precision::F64 => computation.run::<Wgpu, f64, _>(&kernels, stream),
    }
}

/// Opens a stream whose kernels support numbers of this precision.
pub(super) fn open(precision: Precision) -> Result<Stream, Failure> {
    let stream = Stream::open()?;
    match precision {
        Precision::F32 => stream.supports::<f32>()?,
        Precision::F64 => stream.supports::<f64>()?,
    }
    Ok(stream)
}

/// The kernels for numbers of one precision.
struct Kernels {
    multiply: Kernel,
    add: Kernel,
    dot: Kernel,
    add_ratio: Kernel,
    scale_by_ratio: Kernel,
}

impl Kernels {
    fn load(stream: &Stream, precision: Precision) -> Result<Self, Failure> {
        let source = format!("alias Number = {precision};\n{}", include_str!("kernels.wgsl"));
        // The last binding is the output.
        let kernel = |entry, bindings: usize| {
            let mut accesses = vec![Access::Read; bindings - 1];
            accesses.push(Access::ReadWrite);
            stream.kernel(&source, entry, &accesses)
        };
        Ok(Self {
            multiply: kernel("multiply", 5)?,
            add: kernel("add", 2)?,
            dot: kernel("dot_product", 3)?,
            add_ratio: kernel("add_ratio", 4)?,
            scale_by_ratio: kernel("scale_by_ratio", 4)?,
        })
    }
}

/// The number of threads per workgroup.
const WIDTH: u32 = 64;

/// Records a kernel over `count` elements.
fn dispatch(
    scope: &Scope<'_, Wgpu>,
    kernel: &Kernel,
    bindings: &[Binding<'_>],
    count: u64,
    negative: bool,
) -> Result<(), Failure> {
    let count = u32::try_from(count)?;
    let mut parameters = [0; 8];
    parameters[..4].copy_from_slice(&count.to_ne_bytes());
    parameters[4..].copy_from_slice(&u32::from(negative).to_ne_bytes());
    let groups = count.div_ceil(WIDTH).clamp(1, 1024);
    Ok(scope.context().dispatch(kernel, bindings, &parameters, [groups, 1, 1])?)
}

impl<T: Number> Algebra<Wgpu, T> for Kernels {
    fn multiply(
        &self,
        scope: &Scope<'_, Wgpu>,
        matrix: &Matrix<'_, Wgpu, T>,
        x: BufferView<'_, T>,
        to: &mut BufferViewMut<'_, T>,
    ) -> Result<(), Failure> {
        let rows = length_of_all([matrix.rows(), x.len(), to.len()])?;
        let (values, columns) = (matrix.values().binding()?, matrix.columns().binding()?);
        let starts = matrix.starts().binding()?;
        let bindings = [values, columns, starts, x.binding()?, to.binding_mut()?];
        dispatch(scope, &self.multiply, &bindings, rows, false)
    }

    fn add(
        &self,
        scope: &Scope<'_, Wgpu>,
        x: BufferView<'_, T>,
        y: &mut BufferViewMut<'_, T>,
    ) -> Result<(), Failure> {
        let count = length_of_all([x.len(), y.len()])?;
        dispatch(scope, &self.add, &[x.binding()?, y.binding_mut()?], count, false)
    }

    fn dot(
        &self,
        scope: &Scope<'_, Wgpu>,
        x: BufferView<'_, T>,
        y: BufferView<'_, T>,
        to: &mut BufferViewMut<'_, T>,
    ) -> Result<(), Failure> {
        let count = u32::try_from(length_of_all([x.len(), y.len()])?)?;
        let bindings = [x.binding()?, y.binding()?, to.binding_mut()?];
        Ok(scope.context().dispatch(&self.dot, &bindings, &count.to_ne_bytes(), [1, 1, 1])?)
    }

    fn add_ratio(
        &self,
        scope: &Scope<'_, Wgpu>,
        (numerator, denominator): (BufferView<'_, T>, BufferView<'_, T>),
        sign: T,
        x: BufferView<'_, T>,
        y: &mut BufferViewMut<'_, T>,
    ) -> Result<(), Failure> {
        let count = length_of_all([x.len(), y.len()])?;
        let ratio = [numerator.binding()?, denominator.binding()?];
        let bindings = [ratio[0], ratio[1], x.binding()?, y.binding_mut()?];
        dispatch(scope, &self.add_ratio, &bindings, count, sign.to_f64() < 0.0)
    }

    fn scale_by_ratio(
        &self,
        scope: &Scope<'_, Wgpu>,
        (numerator, denominator): (BufferView<'_, T>, BufferView<'_, T>),
        x: BufferView<'_, T>,
        y: &mut BufferViewMut<'_, T>,
    ) -> Result<(), Failure> {
        let count = length_of_all([x.len(), y.len()])?;
        let ratio = [numerator.binding()?, denominator.binding()?];
        let bindings = [ratio[0], ratio[1], x.binding()?, y.binding_mut()?];
        dispatch(scope, &self.scale_by_ratio, &bindings, count, false)
    }
}
