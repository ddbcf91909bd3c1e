//! Calls with invalid arguments. Each call returns, and none leaves the simulator in an invalid
//! state.
//!
//! Pointers to host memory are always valid, because no driver could check them.

use std::ffi::CStr;
use std::ptr;

use cudarc::driver::sys;
use proptest::prelude::{Strategy, any, prop_oneof};

use crate::programs::for_all;
use crate::support::{start, with_seed};

/// A number that is used as a handle, an address or a length.
#[derive(Clone, Copy, Debug)]
enum Value {
    Plain(u64),
    /// A value that an earlier call has returned.
    Given(usize),
    /// A value that an earlier call has returned, plus a small offset.
    Beside(usize, u64),
}

/// A call and its arguments.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Call {
    number: usize,
    values: [Value; 3],
}

fn value() -> impl Strategy<Value = Value> {
    let interesting = [0, 1, 2, 3, 7, 64, 512, 4096, 1 << 20, 1 << 21, 1 << 40, 1 << 62];
    prop_oneof![
        (0..interesting.len()).prop_map(move |index| Value::Plain(interesting[index])),
        any::<u64>().prop_map(|number| Value::Plain(u64::MAX - (number & 0x3FFF))),
        any::<usize>().prop_map(Value::Given),
        any::<usize>().prop_map(Value::Given),
        (any::<usize>(), 0..5000_u64).prop_map(|(index, more)| Value::Beside(index, more)),
    ]
}

fn calls() -> impl Strategy<Value = Vec<Call>> {
    let call = (0..CALLS, value(), value(), value());
    let call =
        call.prop_map(|(number, one, two, three)| Call { number, values: [one, two, three] });
    proptest::collection::vec(call, 1..120)
}

/// Converts a number into a handle of cudarc's type.
fn handle<T>(number: u64) -> *mut T {
    ptr::without_provenance_mut(usize::try_from(number).unwrap())
}

/// Makes calls and stores the handles and addresses that they return.
#[derive(Default)]
struct Caller {
    given: Vec<u64>,
}

/// Makes a call whose first argument receives a handle, and stores the handle.
macro_rules! making {
    ($self:ident, $call:ident($($argument:expr),*)) => {{
        let mut made = ptr::null_mut();
        // SAFETY: the simulator checks handles and addresses before it uses them.
        // The output variables outlive the call.
        if unsafe { sys::$call(&raw mut made, $($argument),*) } == sys::CUresult::CUDA_SUCCESS {
            $self.given.push(made.addr() as u64);
        }
    }};
}

/// Makes a call whose first argument receives an address, and stores the address.
macro_rules! allocating {
    ($self:ident, $call:ident($($argument:expr),*)) => {{
        let mut made = 0;
        // SAFETY: the simulator checks handles and addresses before it uses them.
        // The output variables outlive the call.
        if unsafe { sys::$call(&raw mut made, $($argument),*) } == sys::CUresult::CUDA_SUCCESS {
            $self.given.push(made);
        }
    }};
}

macro_rules! calling {
    ($call:ident($($argument:expr),*)) => {{
        // SAFETY: the simulator checks handles and addresses before it uses them.
        // The output variables outlive the call.
        let _ = unsafe { sys::$call($($argument),*) };
    }};
}

/// Launches a kernel with an address as its parameter.
fn launch(kernel: sys::CUfunction, stream: sys::CUstream, mut address: u64) {
    let (mut value, none) = (1_u64, ptr::null_mut());
    let mut places = [ptr::from_mut(&mut address).cast(), ptr::from_mut(&mut value).cast()];
    calling!(cuLaunchKernel(kernel, 2, 1, 1, 3, 1, 1, 0, stream, places.as_mut_ptr(), none));
}

/// The number of different calls that `make` can choose from.
const CALLS: usize = 41;

/// A module with a variable, and with a kernel that adds to the number at the address in its
/// parameter.
const MODULE: &CStr = c"
.version 8.0
.target sm_80
.address_size 64
.global .align 8 .b64 own;
.visible .entry add(.param .u64 place, .param .u64 value) {
    .reg .b64 %l<3>;
    ld.param.u64 %l1, [place];
    ld.param.u64 %l2, [value];
    red.global.add.u64 [%l1], %l2;
    ret;
}";

impl Caller {
    fn value(&self, value: Value) -> u64 {
        let given = |index: usize| {
            let count = self.given.len();
            if count == 0 { 0 } else { self.given[index % count] }
        };
        match value {
            Value::Plain(number) => number,
            Value::Given(index) => given(index),
            Value::Beside(index, more) => given(index).saturating_add(more),
        }
    }

    fn end_capture(&mut self, stream: sys::CUstream) {
        let mut graph = ptr::null_mut();
        calling!(cuStreamEndCapture(stream, &raw mut graph));
        self.given.push(graph.addr() as u64);
    }

    fn make(&mut self, call: &Call) {
        let [one, two, three] = call.values.map(|value| self.value(value));
        let size = |number: u64| usize::try_from(number).unwrap();
        let low = u32::try_from(one & 3).unwrap();
        let byte = u8::try_from(two & 0xFF).unwrap();
        let (relaxed, mut count) = (sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED, 1);
        let after = [handle(one)];
        let mut bytes = 0;
        let dynamic =
            sys::CUfunction_attribute_enum::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        match call.number {
            0 => making!(self, cuStreamCreate(low)),
            1 => making!(self, cuEventCreate(low)),
            2 => making!(self, cuGraphCreate(0)),
            3 => self.end_capture(handle(one)),
            4 => making!(self, cuGraphInstantiateWithFlags(handle(one), two & 3)),
            5 => making!(self, cuGraphAddEmptyNode(handle(two), after.as_ptr(), 1)),
            6 => making!(self, cuGraphAddMemFreeNode(handle(two), ptr::null(), 0, three)),
            7 => making!(self, cuGraphAddMemFreeNode(handle(two), after.as_ptr(), 1, three)),
            8 => allocating!(self, cuMemAlloc_v2(size(one))),
            9 => allocating!(self, cuMemAllocAsync(size(one), handle(two))),
            10 => allocating!(self, cuMemAllocFromPoolAsync(size(one), handle(two), handle(three))),
            11 => allocating!(self, cuMemAddressReserve(size(one), size(two), 0, 0)),
            12 => calling!(cuMemFree_v2(one)),
            13 => calling!(cuMemFreeAsync(one, handle(two))),
            14 => calling!(cuStreamDestroy_v2(handle(one))),
            15 => calling!(cuStreamSynchronize(handle(one))),
            16 => calling!(cuStreamQuery(handle(one))),
            17 => calling!(cuStreamWaitEvent(handle(one), handle(two), low)),
            18 => calling!(cuEventRecord(handle(one), handle(two))),
            19 => calling!(cuEventRecordWithFlags(handle(one), handle(two), low)),
            20 => calling!(cuEventQuery(handle(one))),
            21 => calling!(cuEventSynchronize(handle(one))),
            22 => calling!(cuEventDestroy_v2(handle(one))),
            23 => calling!(cuMemsetD8Async(one, byte, size(two), handle(three))),
            24 => calling!(cuMemsetD32_v2(one, low, size(two))),
            25 => calling!(cuMemcpyDtoDAsync_v2(one, two, size(three), ptr::null_mut())),
            26 => calling!(cuMemcpyDtoD_v2(one, two, size(three))),
            27 => calling!(cuStreamBeginCapture_v2(handle(one), relaxed)),
            28 => calling!(cuGraphLaunch(handle(one), handle(two))),
            29 => calling!(cuGraphDestroy(handle(one))),
            30 => calling!(cuGraphExecDestroy(handle(one))),
            31 => calling!(cuMemUnmap(one, size(two))),
            32 => calling!(cuMemPoolTrimTo(handle(one), size(two))),
            33 => making!(self, cuModuleLoadData(MODULE.as_ptr().cast())),
            34 => making!(self, cuModuleGetFunction(handle(one), c"add".as_ptr())),
            35 => allocating!(
                self,
                cuModuleGetGlobal_v2(&raw mut bytes, handle(one), c"own".as_ptr())
            ),
            36 => calling!(cuModuleUnload(handle(one))),
            37 => calling!(cuFuncSetAttribute(handle(one), dynamic, 1 << low)),
            38 | 39 => launch(handle(one), handle(two), three),
            _ => calling!(cuGraphGetNodes(handle(one), ptr::null_mut(), &raw mut count)),
        }
    }
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn no_call_breaks_the_simulator() {
    let simulator = start();
    let (all, well) = (std::cell::Cell::new(0), std::cell::Cell::new(0));
    for_all(calls(), |seed, calls: &Vec<Call>| {
        with_seed(simulator, seed);
        simulator.forget_calls();
        let mut caller = Caller::default();
        calls.iter().for_each(|call| caller.make(call));
        let log = simulator.log();
        all.set(all.get() + log.len());
        well.set(well.get() + log.iter().filter(|call| call.code == 0).count());
        if log.len() == calls.len() { Ok(()) } else { Err("calls were lost".to_owned()) }
    });
    println!("{} calls, {} of them successful", all.get(), well.get());
    // If all calls were refused, the test would show little.
    assert!(well.get() > all.get() / 10);
}
