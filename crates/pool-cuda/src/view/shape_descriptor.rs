//! Implements the shape cache's entries, which store the device addresses of shapes.

use pool_core::DynamicShape;
use pool_driver::calls::Address;
use pool_driver::error::CudaError;

use crate::stream::device_stream::DeviceStream;
use crate::stream::shape_cells::{MOST_AXES, NUMBERS, ShapeCell};

/// A shape-cache entry for a device array with a dynamic rank. After the first use of the shape,
/// the entry contains the address of the lengths and strides.
#[derive(Debug, Default)]
pub struct ShapeDescriptor(Option<ShapeCell>);

impl ShapeDescriptor {
    /// Returns the device address of the shape. The first call also writes the shape to device
    /// memory.
    pub(crate) fn place(
        &mut self,
        shape: DynamicShape<'_>,
        stream: &DeviceStream,
    ) -> Result<Address, CudaError> {
        if let Some(cell) = &self.0 {
            return Ok(cell.address());
        }
        let rank = shape.dims().len();
        if rank > MOST_AXES {
            return Err(CudaError::RankTooLarge { rank, most: MOST_AXES });
        }
        let mut numbers = [0_u64; NUMBERS];
        let all = [rank, 0].into_iter().chain(shape.dims().iter().chain(shape.strides()).copied());
        for (number, length) in numbers.iter_mut().zip(all) {
            *number = length as u64;
        }
        let bytes = bytemuck::cast_slice(&numbers[..2 + 2 * rank]);
        let cell = match stream.captured_source() {
            Some(source) => {
                let cell = take_cell(stream)?;
                stream.bind()?;
                // SAFETY: the cell is allocated, belongs to this shape, and has space for the
                // maximum number of axes. All work that reads an earlier shape from the cell
                // precedes this write on the pool's stream.
                unsafe { source.write(cell.address(), bytes) }?;
                cell
            }
            None => {
                stream.bind_outside_capture("write a new shape")?;
                let cell = take_cell(stream)?;
                // SAFETY: the cell is allocated, has space for the maximum number of axes, and
                // belongs to this shape. All work that reads an earlier shape from the cell
                // precedes this write on the pool's stream.
                unsafe { stream.staging().upload(cell.address(), bytes, stream.stream()) }?;
                cell
            }
        };
        let address = cell.address();
        self.0 = Some(cell);
        Ok(address)
    }
}

/// Acquires a cell from the pool's memory for shapes.
fn take_cell(stream: &DeviceStream) -> Result<ShapeCell, CudaError> {
    stream.shapes().take(|bytes| {
        // This attempt is the last one, because the pool cannot free its idle blocks and retry this
        // allocation.
        stream.is_last_attempt().set(true);
        stream.allocate(bytes)
    })
}
