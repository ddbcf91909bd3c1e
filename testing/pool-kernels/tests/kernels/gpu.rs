//! The device under test: modules, launches, and arrays with guards around them.

use std::sync::Arc;

use cuda_sim_control::Simulator;
use cudarc::driver::{
    CudaContext, CudaFunction, CudaGraph, CudaModule, CudaSlice, CudaStream, DevicePtr,
    LaunchConfig, PushKernelArg, sys,
};
use cudarc::nvrtc::Ptx;
use pool_kernels::{Launch, Module};

use crate::element::Stored;

/// The elements after each array, which must not change.
const BEHIND: usize = 5;

/// A device with modules loaded.
pub(crate) struct Gpu {
    context: Arc<CudaContext>,
    stream: Arc<CudaStream>,
    modules: Vec<Arc<CudaModule>>,
}

/// An array in device memory, from some offset of an allocation on.
pub(crate) struct Array<T> {
    slice: CudaSlice<T>,
    address: u64,
    before: usize,
    count: usize,
}

/// A parameter of a kernel.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Argument {
    Word(u64),
    Single(f32),
    Double(f64),
}

impl Gpu {
    /// Opens the driver's device: hardware, or the simulator under `sim-test`.
    pub(crate) fn open(module: Module) -> Self {
        Self::open_with(&[module])
    }

    /// Opens it with several modules.
    pub(crate) fn open_with(modules: &[Module]) -> Self {
        if let Err(why) = driver_conformance::open() {
            panic!("GPU REQUIRED: {why}");
        }
        let context = CudaContext::new(0).unwrap();
        // SAFETY: there is one stream, so each use of an array waits for earlier ones.
        unsafe { context.disable_event_tracking() };
        let load = |module: &Module| context.load_module(Ptx::from_src(module.text())).unwrap();
        let modules = modules.iter().map(load).collect();
        Self { stream: context.new_stream().unwrap(), context, modules }
    }

    /// Runs a check with one module, and closes the device.
    pub(crate) fn with(module: Module, check: impl FnOnce(&Self)) {
        let gpu = Self::open(module);
        check(&gpu);
        gpu.close();
    }

    pub(crate) fn kernel(&self, name: &str) -> CudaFunction {
        self.modules.iter().find_map(|module| module.load_function(name).ok()).unwrap()
    }

    /// Copies an array to the device, at an offset in its allocation.
    pub(crate) fn upload<T: Stored>(&self, data: &[T], before: usize) -> Array<T> {
        let mut all = vec![T::GUARD; before + data.len() + BEHIND];
        all[before..before + data.len()].copy_from_slice(data);
        let slice = self.stream.clone_htod(&all).unwrap();
        let (start, _) = slice.device_ptr(&self.stream);
        let address = start + (before * size_of::<T>()) as u64;
        Array { slice, address, before, count: data.len() }
    }

    /// Allocates an array to be written.
    pub(crate) fn output<T: Stored>(&self, count: usize, before: usize) -> Array<T> {
        self.upload(&vec![T::GUARD; count], before)
    }

    /// Overwrites an array.
    pub(crate) fn write<T: Stored>(&self, array: &mut Array<T>, data: &[T]) {
        assert_eq!(array.count, data.len());
        let mut place = array.slice.slice_mut(array.before..array.before + array.count);
        self.stream.memcpy_htod(data, &mut place).unwrap();
    }

    /// Captures launches.
    pub(crate) fn capture(&self, launches: impl FnOnce()) -> CudaGraph {
        let mode = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
        self.stream.begin_capture(mode).unwrap();
        launches();
        self.stream.end_capture(sys::CUgraphInstantiate_flags(0)).unwrap().unwrap()
    }

    /// Copies an array back, and checks that the bytes around it did not change.
    pub(crate) fn download<T: Stored>(&self, array: &Array<T>) -> Result<Vec<T>, String> {
        let all = self.stream.clone_dtoh(&array.slice).unwrap();
        let end = array.before + array.count;
        let around = all[..array.before].iter().chain(&all[end..]);
        for (at, guard) in around.enumerate() {
            if *guard != T::GUARD {
                return Err(format!("guard {at} around an array of {} is {guard:?}", array.count));
            }
        }
        Ok(all[array.before..end].to_vec())
    }

    /// Launches a kernel after the earlier launches.
    pub(crate) fn launch(&self, kernel: &CudaFunction, launch: Launch, arguments: &[Argument]) {
        let mut builder = self.stream.launch_builder(kernel);
        for argument in arguments {
            match argument {
                Argument::Word(word) => builder.arg(word),
                Argument::Single(number) => builder.arg(number),
                Argument::Double(number) => builder.arg(number),
            };
        }
        let Launch { grid: grid_dim, block: block_dim } = launch;
        let config = LaunchConfig { grid_dim, block_dim, shared_mem_bytes: 0 };
        // SAFETY: each test passes the documented parameters, and keeps its arrays until it has
        // read them.
        unsafe { builder.launch(config) }.unwrap();
    }

    /// Waits for all work, and on the simulator checks that there are no reports.
    pub(crate) fn close(self) {
        self.stream.synchronize().unwrap();
        self.context.check_err().unwrap();
        if let Some(simulator) = Simulator::attach() {
            simulator.assert_clean();
        }
    }
}

impl<T> Array<T> {
    pub(crate) fn argument(&self) -> Argument {
        Argument::Word(self.address)
    }
}

impl From<usize> for Argument {
    fn from(count: usize) -> Self {
        Self::Word(count as u64)
    }
}
