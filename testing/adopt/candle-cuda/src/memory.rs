//! Memory for the slices that candle allocates. The first allocator records the sizes and lifetimes
//! of one forward pass. The second one places the same allocations at planned offsets of a workspace
//! of the graph.
//!
//! All work is on one stream, so the order of the calls is the order of the work. Two slices may
//! share bytes if the first is freed before the second is allocated.

use std::error::Error;
use std::sync::Mutex;

use candle_core::cuda_backend::cudarc::driver::sys::{CUdeviceptr, CUresult};
use candle_core::cuda_backend::cudarc::driver::{CudaStream, DriverError, SliceAllocator, result};
use pool_plan::{Buffer, IntervalProblem, Options};

/// The alignment of CUDA's own allocations.
const ALIGNMENT: u64 = 256;

/// Allocates from the driver, and records each allocation.
#[derive(Debug, Default)]
pub(crate) struct Recorder(Mutex<Recording>);

#[derive(Debug, Default)]
struct Recording {
    time: i64,
    slices: Vec<Slice>,
}

#[derive(Clone, Copy, Debug)]
struct Slice {
    address: CUdeviceptr,
    bytes: u64,
    from: i64,
    to: Option<i64>,
}

/// The offsets of the slices of one forward pass, in the order of their allocation.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    slices: Vec<(u64, u64)>,
    /// The sum of the sizes of all slices.
    pub(crate) sum: u64,
    /// The bytes that the plan needs.
    pub(crate) peak: u64,
    /// The largest number of bytes that are live at the same time.
    pub(crate) bound: u64,
}

/// Places the slices of a forward pass at the offsets of a plan.
#[derive(Debug)]
pub(crate) struct Planned {
    begin: CUdeviceptr,
    plan: Plan,
    next: Mutex<usize>,
}

impl Recorder {
    /// Plans the recorded slices, and checks the plan with the validator.
    pub(crate) fn plan(&self) -> Result<Plan, Box<dyn Error>> {
        let recording = self.0.lock().expect("no holder panics");
        let (slices, end) = (&recording.slices, recording.time + 1);
        let buffers = slices.iter().map(|slice| {
            Buffer::unnamed(slice.from, slice.to.unwrap_or(end), rounded(slice.bytes))
        });
        let problem = IntervalProblem::new(buffers.collect())?;
        let plan = problem.solve(&Options::default())?;
        problem.validate(&plan.offsets)?;
        let placed = slices.iter().zip(&plan.offsets).map(|(slice, &offset)| (slice.bytes, offset));
        let sum = slices.iter().map(|slice| rounded(slice.bytes)).sum();
        let (peak, bound) = (plan.certificate.peak, plan.certificate.bound);
        Ok(Plan { slices: placed.collect(), sum, peak, bound })
    }
}

// SAFETY: the memory comes from the driver, in the order of the stream.
unsafe impl SliceAllocator for Recorder {
    fn alloc(&self, stream: &CudaStream, bytes: usize) -> Result<CUdeviceptr, DriverError> {
        // SAFETY: the stream is valid, and `SliceAllocator` allows use in its order only.
        let address = unsafe { result::malloc_async(stream.cu_stream(), bytes) }?;
        let mut recording = self.0.lock().expect("no holder panics");
        recording.time += 1;
        let from = recording.time;
        recording.slices.push(Slice { address, bytes: bytes as u64, from, to: None });
        Ok(address)
    }

    unsafe fn free(&self, stream: &CudaStream, address: CUdeviceptr) {
        let mut recording = self.0.lock().expect("no holder panics");
        recording.time += 1;
        let now = recording.time;
        let live = |slice: &&mut Slice| slice.address == address && slice.to.is_none();
        if let Some(slice) = recording.slices.iter_mut().rev().find(live) {
            slice.to = Some(now);
        }
        // SAFETY: `alloc` returned the address, and the caller frees it once.
        let freed = unsafe { result::free_async(address, stream.cu_stream()) };
        assert_eq!(freed, Ok(()), "the driver frees its own memory");
    }
}

impl Plan {
    /// Returns the number of slices.
    pub(crate) fn len(&self) -> usize {
        self.slices.len()
    }
}

impl Planned {
    /// Creates an allocator for memory that begins at this address.
    pub(crate) fn new(begin: CUdeviceptr, plan: Plan) -> Self {
        Self { begin, plan, next: Mutex::new(0) }
    }
}

// SAFETY: the plan gives slices that are live at the same time different bytes, which the validator
// of pool-plan checked. A slice of another size than planned is refused. The workspace has no other
// user until the graph ends.
unsafe impl SliceAllocator for Planned {
    fn alloc(&self, _: &CudaStream, bytes: usize) -> Result<CUdeviceptr, DriverError> {
        let mut next = self.next.lock().expect("no holder panics");
        match self.plan.slices.get(*next) {
            Some(&(planned, offset)) if planned == bytes as u64 => {
                *next += 1;
                Ok(self.begin + offset)
            }
            _ => Err(DriverError(CUresult::CUDA_ERROR_OUT_OF_MEMORY)),
        }
    }

    unsafe fn free(&self, _: &CudaStream, _: CUdeviceptr) {}
}

fn rounded(bytes: u64) -> u64 {
    bytes.max(1).next_multiple_of(ALIGNMENT)
}
