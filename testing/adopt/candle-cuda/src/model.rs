//! BERT of candle-transformers with weights from a seed, and one forward pass of it between two
//! addresses.

use candle_core::cuda_backend::CudaDType;
use candle_core::cuda_backend::cudarc::cublas;
use candle_core::cuda_backend::cudarc::driver::sys::CUdeviceptr;
use candle_core::cuda_backend::cudarc::driver::{DevicePtr, DeviceRepr, result};
use candle_core::op::BackpropOp;
use candle_core::{
    CudaDevice, CudaStorage, DType, Device, Error, IndexOp, Result, Shape, Storage, Tensor,
};
use candle_nn::var_builder::SimpleBackend;
use candle_nn::{Init, VarBuilder};
use candle_transformers::models::bert::{BertModel, Config};

/// A model, and the shape of its input: one sequence of `length` tokens.
pub(crate) struct Model {
    bert: BertModel,
    device: CudaDevice,
    length: usize,
    pub(crate) config: Config,
}

/// The memory of one forward pass.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Places {
    /// The token numbers, as `u32`.
    pub(crate) tokens: CUdeviceptr,
    /// The result, as `f32`.
    pub(crate) output: CUdeviceptr,
    /// The workspace of cuBLAS, and its bytes. If there is none, cuBLAS allocates one.
    pub(crate) workspace: Option<(CUdeviceptr, usize)>,
}

impl Model {
    /// Creates a model of this configuration.
    pub(crate) fn new(device: &CudaDevice, config: Config, length: usize) -> Result<Self> {
        let on = Device::Cuda(device.clone());
        let weights = VarBuilder::from_backend(Box::new(Seeded), DType::F32, on);
        let bert = BertModel::load(weights, &config)?;
        Ok(Self { bert, device: device.clone(), length, config })
    }

    /// Returns the number of tokens of an input.
    pub(crate) fn tokens(&self) -> usize {
        self.length
    }

    /// Returns the number of elements of a result.
    pub(crate) fn outputs(&self) -> usize {
        self.length * self.config.hidden_size
    }

    /// Returns the input of this number.
    pub(crate) fn input(&self, number: u64) -> Vec<u32> {
        let mut random = Random(number + 1);
        let vocabulary = self.config.vocab_size as u64;
        (0..self.length).map(|_| (random.next() % vocabulary) as u32).collect()
    }

    /// Enqueues a forward pass on the device's stream. Only candle's public functions are called.
    ///
    /// # Safety
    ///
    /// The places are memory of the device of the right size, which nothing else uses until the pass
    /// has ended.
    pub(crate) unsafe fn forward(&self, places: Places) -> Result<()> {
        let stream = self.device.cuda_stream();
        let handle = *self.device.cublas_handle().handle();
        let set = match places.workspace {
            // SAFETY: the stream is the handle's own. This call removes the workspace.
            None => unsafe { cublas::sys::cublasSetStream_v2(handle, stream.cu_stream().cast()) },
            // SAFETY: the caller passes the workspace to this pass.
            Some((address, bytes)) => unsafe {
                cublas::sys::cublasSetWorkspace_v2(handle, address as *mut _, bytes)
            },
        };
        set.result().map_err(Error::wrap)?;
        // SAFETY: the caller passes `length` token numbers.
        let tokens = unsafe { self.tensor::<u32>(places.tokens, (1, self.length)) }?;
        let kinds = tokens.zeros_like()?;
        let output = self.bert.forward(&tokens, &kinds, None)?.i(0)?.contiguous()?;
        assert_eq!(output.elem_count(), self.outputs());
        let (storage, layout) = output.storage_and_layout();
        let Storage::Cuda(storage) = &*storage else { candle_core::bail!("not on the device") };
        let slice = storage.as_cuda_slice::<f32>()?.slice(layout.start_offset()..);
        let (from, _recorded) = slice.device_ptr(&stream);
        let bytes = 4 * self.outputs();
        // SAFETY: the tensor has `bytes` bytes, and so has the caller's place.
        unsafe { result::memcpy_dtod_async(places.output, from, bytes, stream.cu_stream()) }
            .map_err(Error::wrap)
    }

    /// Returns a tensor with a copy of this memory.
    ///
    /// # Safety
    ///
    /// The memory has the elements of the shape.
    unsafe fn tensor<T: CudaDType + DeviceRepr>(
        &self,
        from: CUdeviceptr,
        shape: impl Into<Shape>,
    ) -> Result<Tensor> {
        let shape = shape.into();
        // SAFETY: all elements are written by the copy below.
        let slice = unsafe { self.device.alloc::<T>(shape.elem_count()) }?;
        let stream = self.device.cuda_stream();
        let bytes = size_of::<T>() * shape.elem_count();
        let to = slice.device_ptr(&stream).0;
        // SAFETY: the slice and the memory have the elements of the shape.
        unsafe { result::memcpy_dtod_async(to, from, bytes, stream.cu_stream()) }
            .map_err(Error::wrap)?;
        let storage = Storage::Cuda(CudaStorage::wrap_cuda_slice(slice, self.device.clone()));
        Ok(Tensor::from_storage(storage, shape, BackpropOp::none(), false))
    }
}

/// Weights from their names: the same in each run.
struct Seeded;

impl SimpleBackend for Seeded {
    fn get(&self, shape: Shape, name: &str, init: Init, _: DType, on: &Device) -> Result<Tensor> {
        let seed = name.bytes().fold(7, |seed: u64, byte| seed.wrapping_mul(31) + u64::from(byte));
        let mut random = Random(seed | 1);
        let middle = if matches!(init, Init::Const(value) if value == 1.0) { 1.0 } else { 0.0 };
        let mut value = || ((random.next() >> 40) as f32 / 16_777_216.0 - 0.5).mul_add(0.2, middle);
        let values: Vec<f32> = (0..shape.elem_count()).map(|_| value()).collect();
        Tensor::from_vec(values, shape, on)
    }

    fn get_unchecked(&self, name: &str, _: DType, _: &Device) -> Result<Tensor> {
        candle_core::bail!("{name} has no shape")
    }

    /// A prefix of names is no tensor.
    fn contains_tensor(&self, name: &str) -> bool {
        name.contains('.')
    }
}

/// A generator of numbers, xorshift64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }
}
