//! Programs that each end in a different way. They are tests that run one at a time, in separate
//! processes.

mod printing;

use std::ffi::CStr;
use std::process;
use std::sync::Arc;

use cuda_sim_test::StartError;
use cudarc::driver::{CudaContext, CudaStream, LaunchConfig, PushKernelArg, result, sys};
use cudarc::nvrtc::Ptx;

/// `mark` writes 1 to its first number, `endless` never ends, and `prints` prints its thread
/// number.
const KERNELS: &str = "
.version 7.0
.target sm_70
.address_size 64
.visible .entry mark(.param .u64 place) {
    .reg .b64 %rd<2>;
    .reg .b32 %r<2>;
    ld.param.u64 %rd1, [place];
    mov.u32 %r1, 1;
    st.global.u32 [%rd1], %r1;
    ret;
}
.visible .entry endless() {
again:
    bra again;
}
.extern .func (.param .b32 result) vprintf (.param .b64 format, .param .b64 arguments);
.global .align 1 .b8 text[11] = {116, 104, 114, 101, 97, 100, 32, 37, 100, 10, 0};
.visible .entry prints() {
    .local .align 4 .b8 stack[4];
    .reg .b64 %rd<3>;
    .reg .b32 %r<2>;
    mov.u32 %r1, %tid.x;
    st.local.u32 [stack], %r1;
    mov.u64 %rd1, text;
    cvta.global.u64 %rd1, %rd1;
    mov.u64 %rd2, stack;
    cvta.local.u64 %rd2, %rd2;
    {
        .param .b64 format;
        .param .b64 arguments;
        .param .b32 result;
        st.param.b64 [format], %rd1;
        st.param.b64 [arguments], %rd2;
        call.uni (result), vprintf, (format, arguments);
    }
    ret;
}
";

fn context() -> Arc<CudaContext> {
    cuda_sim_test::start();
    CudaContext::new(0).unwrap()
}

/// Returns two streams of a context in which cudarc inserts no implicit order.
fn unordered() -> (Arc<CudaStream>, Arc<CudaStream>) {
    let context = context();
    // SAFETY: these programs exist to test unordered accesses.
    unsafe { context.disable_event_tracking() };
    (context.new_stream().unwrap(), context.new_stream().unwrap())
}

/// Fills on one stream and copies on the other, without ordering them.
fn fill_and_copy() {
    let (first, second) = unordered();
    let mut numbers = first.alloc_zeros::<f32>(1024).unwrap();
    first.synchronize().unwrap();
    first.memset_zeros(&mut numbers).unwrap();
    drop(second.clone_dtoh(&numbers).unwrap());
    second.synchronize().unwrap();
    first.synchronize().unwrap();
}

#[test]
#[ignore = "a program"]
fn clean() {
    let stream = context().default_stream();
    let numbers = stream.clone_htod(&[1.0_f32, 2.0]).unwrap();
    assert_eq!(stream.clone_dtoh(&numbers).unwrap(), [1.0, 2.0]);
}

macro_rules! beside {
    ($($name:ident)*) => { $(
        #[test]
        #[ignore = "a program"]
        fn $name() {
            let stream = context().new_stream().unwrap();
            for number in 0..50_u32 {
                let numbers = stream.clone_htod(&vec![number; 1000]).unwrap();
                assert_eq!(stream.clone_dtoh(&numbers).unwrap(), vec![number; 1000]);
            }
        }
    )* };
}

beside! { beside_one beside_two beside_three beside_four }

#[test]
#[ignore = "a program"]
fn race() {
    fill_and_copy();
}

#[test]
#[ignore = "a program"]
fn race_and_panic() {
    fill_and_copy();
    panic!("on purpose");
}

#[test]
#[ignore = "a program"]
fn panic() {
    let numbers = context().default_stream().alloc_zeros::<f32>(1024).unwrap();
    assert_eq!(numbers.len(), 0, "on purpose");
}

#[test]
#[ignore = "a program"]
fn pending() {
    let (first, second) = unordered();
    let module = first.context().load_module(Ptx::from_src(KERNELS)).unwrap();
    let mark = module.load_function("mark").unwrap();
    let mut number = first.alloc_zeros::<u32>(1).unwrap();
    first.synchronize().unwrap();
    let one = LaunchConfig { grid_dim: (1, 1, 1), block_dim: (1, 1, 1), shared_mem_bytes: 0 };
    for stream in [&first, &second] {
        let mut launch = stream.launch_builder(&mark);
        // SAFETY: the kernel writes one number, and the buffer holds one number.
        unsafe { launch.arg(&mut number).launch(one) }.unwrap();
    }
    process::exit(0);
}

#[test]
#[ignore = "a program"]
fn leak() {
    let numbers = context().default_stream().alloc_zeros::<f32>(1024).unwrap();
    let _address = numbers.leak();
}

#[test]
#[ignore = "a program"]
fn stale() {
    let stream = context().default_stream();
    let address = stream.alloc_zeros::<f32>(1024).unwrap().leak();
    stream.synchronize().unwrap();
    // SAFETY: no other code uses the address.
    unsafe { result::free_sync(address) }.unwrap();
    // SAFETY: this program tests the driver's return code for a freed address.
    let answer = unsafe { result::memset_d8_sync(address, 0, 4096) };
    assert_eq!(answer.unwrap_err().0, sys::CUresult::CUDA_ERROR_INVALID_VALUE);
}

#[test]
#[ignore = "a program"]
fn exit_well() {
    let _numbers = context().default_stream().alloc_zeros::<f32>(1024).unwrap();
    process::exit(0);
}

#[test]
#[ignore = "a program"]
fn exit_with_seven() {
    let _numbers = context().default_stream().alloc_zeros::<f32>(1024).unwrap();
    process::exit(7);
}

#[test]
#[ignore = "a program"]
fn fork() {
    let _address = context().default_stream().alloc_zeros::<f32>(1024).unwrap().leak();
    // SAFETY: the child ends immediately.
    // It calls nothing that another thread may be in the middle of.
    let child = unsafe { libc::fork() };
    if child == 0 {
        process::exit(0);
    }
    let mut status = -1;
    // SAFETY: the output variable is valid during the call.
    unsafe { libc::waitpid(child, &raw mut status, 0) };
    println!("the child ended with {status}");
}

#[test]
#[ignore = "a program"]
fn taken() {
    fill_and_copy();
    let reports = cuda_sim_test::running().unwrap().take_reports();
    assert!(reports.iter().all(|report| report.starts_with("race: ")) && !reports.is_empty());
    cuda_sim_test::start().assert_clean();
}

#[test]
#[ignore = "a program"]
fn twice() {
    let first = cuda_sim_test::start_with(|machine| machine.devices = 2);
    let second = cuda_sim_test::try_start_with(|machine| machine.devices = 2).unwrap();
    assert_eq!(CudaContext::device_count(), Ok(2));
    assert_eq!(first.leaks(), second.leaks());
}

#[test]
#[ignore = "a program"]
fn otherwise() {
    cuda_sim_test::start();
    let error = cuda_sim_test::try_start_with(|machine| machine.devices = 2).unwrap_err();
    assert!(matches!(error, StartError::StartedOtherwise { .. }));
    println!("{error}");
}

#[test]
#[ignore = "a program"]
fn asks_the_loader() {
    if cuda_sim_test::running().is_none() {
        println!("no simulator");
        return;
    }
    println!("{}", CudaContext::new(0).unwrap().name().unwrap());
    println!("{} devices", CudaContext::device_count().unwrap());
}

#[test]
#[ignore = "a program"]
fn both_names() {
    cuda_sim_test::start();
    let address_of = |name: &CStr| {
        // SAFETY: the name ends with a zero byte.
        // The call only opens a library that is already loaded.
        let library = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_NOLOAD) };
        assert!(!library.is_null(), "{name:?}");
        // SAFETY: the library is loaded, and the name ends with a zero byte.
        unsafe { libc::dlsym(library, c"cuInit".as_ptr()) }
    };
    let addresses = [c"libcuda.so", c"libcuda.so.1"].map(address_of);
    assert!(!addresses[0].is_null() && addresses[0] == addresses[1], "{addresses:?}");
}

#[test]
#[ignore = "a program"]
fn allocates_three() {
    let stream = context().new_stream().unwrap();
    let answers: Vec<bool> = (0..3).map(|_| stream.alloc_zeros::<u8>(100).is_ok()).collect();
    assert_eq!(answers, [true, false, true], "the second allocation fails");
}

#[test]
#[ignore = "a program"]
fn version() {
    cuda_sim_test::start();
    result::init().unwrap();
    let mut version = 0;
    // SAFETY: the output variable is valid during the call.
    unsafe { sys::cuDriverGetVersion(&raw mut version) }.result().unwrap();
    println!("driver {version}");
    let mut limit = 0;
    // SAFETY: the output variable is valid during the call.
    let refused = unsafe { sys::cuCtxGetLimit(&raw mut limit, sys::CUlimit::CU_LIMIT_STACK_SIZE) };
    println!("{refused:?}");
}

#[test]
#[ignore = "a program"]
fn endless() {
    let stream = context().default_stream();
    let module = stream.context().load_module(Ptx::from_src(KERNELS)).unwrap();
    let endless = module.load_function("endless").unwrap();
    let one = LaunchConfig { grid_dim: (1, 1, 1), block_dim: (1, 1, 1), shared_mem_bytes: 0 };
    // SAFETY: the kernel accesses no memory.
    unsafe { stream.launch_builder(&endless).launch(one) }.unwrap();
    let answer = stream.synchronize().unwrap_err();
    assert_eq!(answer.0, sys::CUresult::CUDA_ERROR_LAUNCH_TIMEOUT);
}

/// Returns the result of a copy that is not ordered after the write to its source: ones or zeros.
fn unordered_copy() -> u32 {
    let (first, second) = unordered();
    let ones = first.clone_htod(&vec![1_u32; 1 << 15]).unwrap();
    let mut numbers = first.alloc_zeros::<u32>(1 << 15).unwrap();
    first.synchronize().unwrap();
    first.memcpy_dtod(&ones, &mut numbers).unwrap();
    let copy = second.clone_dtoh(&numbers).unwrap();
    first.synchronize().unwrap();
    copy[0]
}

#[test]
#[ignore = "a program"]
fn orders() {
    cuda_sim_test::start().each_order(|_| assert_eq!(unordered_copy(), 1, "the copy came first"));
}

#[test]
#[ignore = "a program"]
fn orders_told() {
    cuda_sim_test::start().each_order(|seed| println!("seed {seed}: {}.", unordered_copy()));
}
