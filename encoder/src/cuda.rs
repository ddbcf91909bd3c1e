//! The encoder's operations on a CUDA device, real or simulated: a kernel each, on the stream of the scope's pool.

use cudarc::driver::{CudaFunction, LaunchConfig, PushKernelArg};
use cudarc::nvrtc::Ptx;
use pool_facade::pool_cuda::{CudaDevice, DevicePool, DeviceView, DeviceViewMut, Launch};
use pool_facade::{LendView, PoolBackend, PoolView, Scope};
use pool_kernels::transformer::{
    ADD_LAYER_NORM, ADD_ROWS, GELU, MODULE, PRODUCTS, SOFTMAX_BEGINNING, UNIT_MEANS,
};

use crate::algebra::{Algebra, Failure, NormOf, Product, agree, rows_of};

/// The kernels.
#[derive(Debug)]
pub struct OnCuda {
    add_rows: CudaFunction,
    multiply: CudaFunction,
    gelu: CudaFunction,
    softmax: CudaFunction,
    add_and_normalize: CudaFunction,
    unit_means: CudaFunction,
}

impl OnCuda {
    /// Loads the kernels into a device.
    ///
    /// # Errors
    ///
    /// Fails if the driver does not load them.
    pub fn new(device: &CudaDevice) -> Result<Self, Failure> {
        let module = device.context().load_module(Ptx::from_src(MODULE.text()))?;
        let kernel = |kernels: pool_kernels::FloatKernels| module.load_function(kernels.f32);
        Ok(Self {
            add_rows: kernel(ADD_ROWS)?,
            multiply: kernel(PRODUCTS)?,
            gelu: kernel(GELU)?,
            softmax: kernel(SOFTMAX_BEGINNING)?,
            add_and_normalize: kernel(ADD_LAYER_NORM)?,
            unit_means: kernel(UNIT_MEANS)?,
        })
    }
}

fn configuration(launch: pool_kernels::Launch) -> LaunchConfig {
    LaunchConfig { grid_dim: launch.grid, block_dim: launch.block, shared_mem_bytes: 0 }
}

/// A number for a parameter of a kernel.
fn wide(number: usize) -> u64 {
    number as u64
}

// All views of an operation are of the scope's pool, or constants (`Algebra`), so its stream is theirs.
impl<B> Algebra<B> for OnCuda
where
    B: DevicePool,
    B: for<'s> PoolBackend<View<'s, f32> = DeviceViewMut<'s, f32>>,
    B: for<'s> PoolBackend<ViewRef<'s, f32> = DeviceView<'s, f32>>,
    B: for<'s> PoolBackend<ViewRef<'s, u32> = DeviceView<'s, u32>>,
{
    fn add_rows(
        &self,
        scope: &Scope<'_, B>,
        columns: usize,
        table: DeviceView<'_, f32>,
        indices: DeviceView<'_, u32>,
        to: &mut DeviceViewMut<'_, f32>,
    ) -> Result<(), Failure> {
        let table_rows = wide(rows_of(table.len(), columns)?);
        agree("rows by index", to.len(), indices.len() * columns)?;
        let over = configuration(pool_kernels::Launch::over_elements(to.len()));
        let (rows, columns) = (wide(indices.len()), wide(columns));
        let mut launch = scope.launch(&self.add_rows);
        launch.arg(&table).arg(&indices).arg(to).arg(&rows).arg(&columns).arg(&table_rows);
        // SAFETY: the parameters are those of `ADD_ROWS`, and the lengths are as it requires: `to` has a row for each
        // index, and the kernel reads only rows of the table.
        unsafe { launch.launch(over) }?;
        Ok(())
    }

    fn multiply(
        &self,
        scope: &Scope<'_, B>,
        product: &Product,
        (left, right): (DeviceView<'_, f32>, DeviceView<'_, f32>),
        bias: Option<DeviceView<'_, f32>>,
        to: &mut DeviceViewMut<'_, f32>,
    ) -> Result<(), Failure> {
        let of_bias = bias.as_ref().map(DeviceView::len);
        product.check((left.len(), right.len()), of_bias, to.len())?;
        if product.count == 0 || product.rows == 0 || product.columns == 0 {
            return Ok(());
        }
        let left = left.into_part(product.left.start..)?;
        let right = right.into_part(product.right.start..)?;
        let mut to = to.part_mut(product.to.start..)?;
        let sizes = [product.count, product.rows, product.columns, product.inner].map(wide);
        let layouts = [product.left, product.right, product.to];
        let strides = layouts.map(|layout| [wide(layout.row), wide(layout.matrix)]);
        let is_turned = u64::from(product.right_is_turned);
        let mut over =
            configuration(pool_kernels::Launch::over_product(product.rows, product.columns));
        over.grid_dim.2 = u32::try_from(product.count.min(MATRICES_AT_ONCE))?;
        let no_bias = 0_u64;
        let mut launch = scope.launch(&self.multiply);
        launch.arg(&left).arg(&right);
        match &bias {
            Some(bias) => launch.arg(bias),
            None => launch.arg(&no_bias),
        };
        launch.arg(&mut to);
        sizes.iter().chain(strides.as_flattened()).for_each(|number| {
            launch.arg(number);
        });
        launch.arg(&is_turned).arg(&product.factor);
        // SAFETY: the parameters are those of `PRODUCTS`, for which a null pointer means no bias, and `check` has
        // proved that all matrices are within their views.
        unsafe { launch.launch(over) }?;
        Ok(())
    }

    fn gelu(&self, scope: &Scope<'_, B>, y: &mut DeviceViewMut<'_, f32>) -> Result<(), Failure> {
        let over = configuration(pool_kernels::Launch::over_elements(y.len()));
        let count = wide(y.len());
        let mut launch = scope.launch(&self.gelu);
        launch.arg(y).arg(&count);
        // SAFETY: the parameters are those of `GELU`, and the count is that of the view.
        unsafe { launch.launch(over) }?;
        Ok(())
    }

    fn softmax(
        &self,
        scope: &Scope<'_, B>,
        columns: usize,
        lengths: DeviceView<'_, u32>,
        sequence: usize,
        y: &mut DeviceViewMut<'_, f32>,
    ) -> Result<(), Failure> {
        let rows = rows_of(y.len(), columns)?;
        let over = configuration(pool_kernels::Launch::over_rows(rows, columns));
        let length = lengths.into_part(sequence..=sequence)?;
        let (rows, columns) = (wide(rows), wide(columns));
        let mut launch = scope.launch(&self.softmax);
        launch.arg(y).arg(&length).arg(&rows).arg(&columns);
        // SAFETY: the parameters are those of `SOFTMAX_BEGINNING`, with one length and the number of the view's rows.
        unsafe { launch.launch(over) }?;
        Ok(())
    }

    fn add_and_normalize(
        &self,
        scope: &Scope<'_, B>,
        update: DeviceView<'_, f32>,
        (scale, shift, epsilon): NormOf<'_, B>,
        y: &mut DeviceViewMut<'_, f32>,
    ) -> Result<(), Failure> {
        let columns = scale.len();
        let rows = rows_of(y.len(), columns)?;
        agree("a norm's shift", shift.len(), columns)?;
        agree("what is added before a norm", update.len(), y.len())?;
        let over = configuration(pool_kernels::Launch::over_rows(rows, columns));
        let (rows, columns) = (wide(rows), wide(columns));
        let mut launch = scope.launch(&self.add_and_normalize);
        launch.arg(&update).arg(&scale).arg(&shift).arg(y).arg(&rows).arg(&columns).arg(&epsilon);
        // SAFETY: the parameters are those of `ADD_LAYER_NORM`, and the lengths are as it wants.
        unsafe { launch.launch(over) }?;
        Ok(())
    }

    fn unit_means(
        &self,
        scope: &Scope<'_, B>,
        rows_of_each: usize,
        x: DeviceView<'_, f32>,
        lengths: DeviceView<'_, u32>,
        to: &mut DeviceViewMut<'_, f32>,
    ) -> Result<(), Failure> {
        let columns = rows_of(to.len(), lengths.len())?;
        agree("sequences to take the mean of", x.len(), lengths.len() * rows_of_each * columns)?;
        let over = configuration(pool_kernels::Launch::over_rows(lengths.len(), columns));
        let sizes = [lengths.len(), rows_of_each, columns].map(wide);
        let mut launch = scope.launch(&self.unit_means);
        launch.arg(&x).arg(&lengths).arg(to).arg(&sizes[0]).arg(&sizes[1]).arg(&sizes[2]);
        // SAFETY: the parameters are those of `UNIT_MEANS`, and the lengths are as it wants; a sequence that says it is
        // longer than there are rows is as long as that.
        unsafe { launch.launch(over) }?;
        Ok(())
    }
}

/// The most matrices of a grid: the kernel continues with the rest.
const MATRICES_AT_ONCE: usize = 1024;
