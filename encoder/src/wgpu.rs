//! The encoder's operations on a device of wgpu: a kernel each, recorded into the stream of the scope's pool.

use bytemuck::{Pod, Zeroable};
use pool_facade::Scope;
use pool_wgpu::{Access, Binding, BufferView, BufferViewMut, Kernel, Stream, Wgpu};

use crate::algebra::{Algebra, Failure, Layout, NormOf, Product, agree, rows_of};

/// The kernels.
#[derive(Debug)]
pub struct OnWgpu {
    add_rows: Kernel,
    multiply: Kernel,
    gelu: Kernel,
    softmax: Kernel,
    add_and_normalize: Kernel,
    unit_means: Kernel,
}

impl OnWgpu {
    /// Compiles the kernels for the device of a stream.
    ///
    /// # Errors
    ///
    /// Fails if the device refuses them.
    pub fn new(stream: &Stream) -> Result<Self, Failure> {
        // The last binding is the output.
        let kernel = |entry, bindings: usize| {
            let mut accesses = vec![Access::Read; bindings - 1];
            accesses.push(Access::ReadWrite);
            stream.kernel(include_str!("kernels.wgsl"), entry, &accesses)
        };
        Ok(Self {
            add_rows: kernel("add_rows", 3)?,
            multiply: kernel("multiply", 4)?,
            gelu: kernel("gelu", 1)?,
            softmax: kernel("softmax", 2)?,
            add_and_normalize: kernel("add_and_normalize", 4)?,
            unit_means: kernel("unit_means", 3)?,
        })
    }
}

/// `Rows` of the kernels.
#[derive(Clone, Copy, Default, Pod, Zeroable)]
#[repr(C)]
struct Rows {
    count: u32,
    columns: u32,
    sequence: u32,
    epsilon: f32,
}

/// `Product` of the kernels.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct ProductParameters {
    rows: u32,
    columns: u32,
    inner: u32,
    count: u32,
    /// Start, row and matrix.
    left: [u32; 3],
    has_bias: u32,
    right: [u32; 3],
    right_is_turned: u32,
    to: [u32; 3],
    factor: f32,
}

impl ProductParameters {
    fn new(product: &Product, has_bias: bool) -> Result<Self, Failure> {
        let layout = |layout: Layout| -> Result<[u32; 3], Failure> {
            Ok([layout.start.try_into()?, layout.row.try_into()?, layout.matrix.try_into()?])
        };
        Ok(Self {
            rows: product.rows.try_into()?,
            columns: product.columns.try_into()?,
            inner: product.inner.try_into()?,
            count: product.count.try_into()?,
            left: layout(product.left)?,
            has_bias: has_bias.into(),
            right: layout(product.right)?,
            right_is_turned: product.right_is_turned.into(),
            to: layout(product.to)?,
            factor: product.factor,
        })
    }
}

/// Threads of a workgroup of the kernels that have one for elements or rows.
const WIDTH: u32 = 64;
/// The rows and columns of a tile of the product.
const TILE: u32 = 16;
/// The maximum number of workgroups, for kernels that continue with the rest.
const GROUPS: u32 = 4096;

/// Records a kernel over elements, with `of_a_group` of them in a workgroup.
fn dispatch(
    scope: &Scope<'_, Wgpu>,
    kernel: &Kernel,
    bindings: &[Binding<'_>],
    parameters: Rows,
    of_a_group: u32,
) -> Result<(), Failure> {
    let groups = parameters.count.div_ceil(of_a_group.max(1)).clamp(1, GROUPS);
    let bytes = bytemuck::bytes_of(&parameters);
    Ok(scope.context().dispatch(kernel, bindings, bytes, [groups, 1, 1])?)
}

impl Algebra<Wgpu> for OnWgpu {
    fn add_rows(
        &self,
        scope: &Scope<'_, Wgpu>,
        columns: usize,
        table: BufferView<'_, f32>,
        indices: BufferView<'_, u32>,
        to: &mut BufferViewMut<'_, f32>,
    ) -> Result<(), Failure> {
        rows_of(table.len(), columns)?;
        agree("rows by index", to.len(), indices.len() * columns)?;
        let (count, columns) = (to.len().try_into()?, columns.try_into()?);
        let bindings = [table.binding()?, indices.binding()?, to.binding_mut()?];
        dispatch(
            scope,
            &self.add_rows,
            &bindings,
            Rows { count, columns, ..Rows::default() },
            WIDTH,
        )
    }

    fn multiply(
        &self,
        scope: &Scope<'_, Wgpu>,
        product: &Product,
        (left, right): (BufferView<'_, f32>, BufferView<'_, f32>),
        bias: Option<BufferView<'_, f32>>,
        to: &mut BufferViewMut<'_, f32>,
    ) -> Result<(), Failure> {
        product.check((left.len(), right.len()), bias.map(|bias| bias.len()), to.len())?;
        let parameters = ProductParameters::new(product, bias.is_some())?;
        let groups =
            [parameters.columns.div_ceil(TILE), parameters.rows.div_ceil(TILE), parameters.count];
        if groups.contains(&0) {
            return Ok(());
        }
        // Without a bias, another input is in its place, and is not read.
        let bias = bias.unwrap_or(right);
        let bindings = [left.binding()?, right.binding()?, bias.binding()?, to.binding_mut()?];
        let bytes = bytemuck::bytes_of(&parameters);
        Ok(scope.context().dispatch(&self.multiply, &bindings, bytes, groups)?)
    }

    fn gelu(&self, scope: &Scope<'_, Wgpu>, y: &mut BufferViewMut<'_, f32>) -> Result<(), Failure> {
        let rows = Rows { count: y.len().try_into()?, ..Rows::default() };
        dispatch(scope, &self.gelu, &[y.binding_mut()?], rows, WIDTH)
    }

    fn softmax(
        &self,
        scope: &Scope<'_, Wgpu>,
        columns: usize,
        lengths: BufferView<'_, u32>,
        sequence: usize,
        y: &mut BufferViewMut<'_, f32>,
    ) -> Result<(), Failure> {
        rows_of(y.len(), columns)?;
        if sequence >= lengths.len() {
            return Err("no such sequence".into());
        }
        let (count, columns) = (y.len().try_into()?, columns.try_into()?);
        let rows = Rows { count, columns, sequence: sequence.try_into()?, epsilon: 0.0 };
        dispatch(scope, &self.softmax, &[lengths.binding()?, y.binding_mut()?], rows, columns)
    }

    fn add_and_normalize(
        &self,
        scope: &Scope<'_, Wgpu>,
        update: BufferView<'_, f32>,
        (scale, shift, epsilon): NormOf<'_, Wgpu>,
        y: &mut BufferViewMut<'_, f32>,
    ) -> Result<(), Failure> {
        rows_of(y.len(), scale.len())?;
        agree("a norm's shift", shift.len(), scale.len())?;
        agree("what is added before a norm", update.len(), y.len())?;
        let (count, columns) = (y.len().try_into()?, scale.len().try_into()?);
        let bindings = [update.binding()?, scale.binding()?, shift.binding()?, y.binding_mut()?];
        let rows = Rows { count, columns, epsilon, sequence: 0 };
        dispatch(scope, &self.add_and_normalize, &bindings, rows, columns)
    }

    fn unit_means(
        &self,
        scope: &Scope<'_, Wgpu>,
        rows_of_each: usize,
        x: BufferView<'_, f32>,
        lengths: BufferView<'_, u32>,
        to: &mut BufferViewMut<'_, f32>,
    ) -> Result<(), Failure> {
        let columns = rows_of(to.len(), lengths.len())?;
        agree("sequences to take the mean of", x.len(), lengths.len() * rows_of_each * columns)?;
        let (count, columns) = (to.len().try_into()?, columns.try_into()?);
        let sequence = rows_of_each.try_into()?;
        let bindings = [x.binding()?, lengths.binding()?, to.binding_mut()?];
        let rows = Rows { count, columns, sequence, epsilon: 0.0 };
        dispatch(scope, &self.unit_means, &bindings, rows, columns)
    }
}
