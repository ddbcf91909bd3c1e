//! Programs with kernels that print.

use std::ffi::CString;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::os::fd::FromRawFd;
use std::process;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use cudarc::driver::{CudaContext, CudaFunction, CudaStream, LaunchConfig, sys};
use cudarc::nvrtc::Ptx;

use super::{KERNELS, context};

/// Launches two threads that print. Dropping the returned function unloads the module.
fn launch_two_that_print(stream: &Arc<CudaStream>) -> CudaFunction {
    let module = stream.context().load_module(Ptx::from_src(KERNELS)).unwrap();
    let prints = module.load_function("prints").unwrap();
    let two = LaunchConfig { grid_dim: (1, 1, 1), block_dim: (2, 1, 1), shared_mem_bytes: 0 };
    // SAFETY: the kernel only accesses its own memory.
    unsafe { stream.launch_builder(&prints).launch(two) }.unwrap();
    prints
}

#[test]
#[ignore = "a program"]
fn prints() {
    let stream = context().new_stream().unwrap();
    let _prints = launch_two_that_print(&stream);
    println!("launched");
    stream.synchronize().unwrap();
    println!("waited");
}

#[test]
#[ignore = "a program"]
fn prints_and_exits() {
    let _prints = launch_two_that_print(&context().new_stream().unwrap());
    process::exit(0);
}

/// The kernel `prints` from a module that was loaded without cudarc, so the current context is not
/// changed.
struct Prints {
    module: sys::CUmodule,
    function: sys::CUfunction,
    text: CString,
}

impl Prints {
    /// Loads the kernel for the device whose context is current.
    fn load() -> Self {
        let text = CString::new(KERNELS).unwrap();
        let (mut module, mut function) = (std::ptr::null_mut(), std::ptr::null_mut());
        // SAFETY: the output variable is valid during the call, and the text ends with a zero byte.
        let loaded = unsafe { sys::cuModuleLoadData(&raw mut module, text.as_ptr().cast()) };
        loaded.result().unwrap();
        let name = c"prints".as_ptr();
        // SAFETY: the output variable is valid during the call.
        // The module is live, and the name ends with a zero byte.
        let found = unsafe { sys::cuModuleGetFunction(&raw mut function, module, name) };
        found.result().unwrap();
        Self { module, function, text }
    }

    fn launch(&self, stream: &CudaStream) {
        let (stream, none) = (stream.cu_stream(), std::ptr::null_mut());
        // SAFETY: the kernel has no parameters, and only accesses its own memory.
        unsafe { sys::cuLaunchKernel(self.function, 1, 1, 1, 2, 1, 1, 0, stream, none, none) }
            .result()
            .unwrap();
    }

    /// Launches the kernel and lets it run without showing its output. A query does not show the
    /// output.
    fn run(&self, stream: &CudaStream) {
        self.launch(stream);
        // SAFETY: the stream is live.
        while unsafe { sys::cuStreamQuery(stream.cu_stream()) } != sys::CUresult::CUDA_SUCCESS {}
    }
}

/// Returns a stream and the kernel of the second device. The first device's context is current.
fn on_the_second_device() -> (Arc<CudaStream>, Prints, Arc<CudaContext>) {
    let first = context();
    let second = CudaContext::new(1).unwrap();
    let stream = second.new_stream().unwrap();
    let prints = Prints::load();
    first.bind_to_thread().unwrap();
    (stream, prints, first)
}

#[test]
#[ignore = "a program"]
fn prints_on_another_device() {
    let (stream, prints, first) = on_the_second_device();
    let event = stream.record_event(None).unwrap();
    first.bind_to_thread().unwrap();
    prints.launch(&stream);
    println!("launched");
    // SAFETY: the stream is live.
    unsafe { sys::cuStreamSynchronize(stream.cu_stream()) }.result().unwrap();
    println!("stream");
    prints.run(&stream);
    // SAFETY: the event is live.
    unsafe { sys::cuEventSynchronize(event.cu_event()) }.result().unwrap();
    println!("event");
    prints.run(&stream);
    prints.launch(&stream);
    println!("launch");
}

#[test]
#[ignore = "a program"]
fn prints_until_modules_go() {
    let (stream, prints, first) = on_the_second_device();
    stream.context().bind_to_thread().unwrap();
    prints.run(&stream);
    let loaded = Prints::load();
    println!("module loaded");
    first.bind_to_thread().unwrap();
    prints.run(&stream);
    // SAFETY: the module is no longer in use.
    unsafe { sys::cuModuleUnload(loaded.module) }.result().unwrap();
    println!("module unloaded");
    prints.run(&stream);
    let mut library = std::ptr::null_mut();
    let (none, options) = (std::ptr::null_mut(), std::ptr::null_mut());
    let text = prints.text.as_ptr().cast();
    // SAFETY: the output variable is valid during the call, and the text ends with a zero byte.
    // The call passes no options.
    unsafe {
        let (compiling, values) = (std::ptr::null_mut(), std::ptr::null_mut());
        sys::cuLibraryLoadData(&raw mut library, text, compiling, values, 0, options, none, 0)
    }
    .result()
    .unwrap();
    println!("library loaded");
    prints.run(&stream);
    // SAFETY: the library is no longer in use.
    unsafe { sys::cuLibraryUnload(library) }.result().unwrap();
    println!("library unloaded");
}

#[test]
#[ignore = "a program"]
fn prints_into_a_pipe() {
    let stream = context().new_stream().unwrap();
    let module = stream.context().load_module(Ptx::from_src(KERNELS)).unwrap();
    let prints = module.load_function("prints").unwrap();
    // The output exceeds what a pipe buffers if no process reads from it.
    let many = LaunchConfig { grid_dim: (16, 1, 1), block_dim: (1024, 1, 1), shared_mem_bytes: 0 };
    // SAFETY: the kernel only accesses its own memory.
    unsafe { stream.launch_builder(&prints).launch(many) }.unwrap();
    // If the process does not make progress, it ends itself.
    thread::spawn(|| {
        thread::sleep(Duration::from_secs(20));
        process::exit(9);
    });
    let mut ends = [0; 2];
    // SAFETY: the output variable is valid during the call.
    assert_eq!(unsafe { libc::pipe(ends.as_mut_ptr()) }, 0);
    // SAFETY: the number belongs to an open file.
    let own = unsafe { libc::dup(libc::STDOUT_FILENO) };
    // SAFETY: the numbers belong to open files.
    assert_eq!(unsafe { libc::dup2(ends[1], libc::STDOUT_FILENO) }, libc::STDOUT_FILENO);
    let waiting = Arc::clone(&stream);
    let waits = thread::spawn(move || waiting.synchronize().unwrap());
    // SAFETY: no other code owns this end of the pipe.
    let mut output = BufReader::new(unsafe { File::from_raw_fd(ends[0]) });
    let mut line = String::new();
    // With many callers, one of them is likely to run between the end of the kernel and the writing
    // of the kernel's lines.
    thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| (0..256).for_each(|_| assert_eq!(CudaContext::device_count(), Ok(1))));
        }
    });
    for _ in 0..16 * 1024 {
        assert_eq!(CudaContext::device_count(), Ok(1));
        line.clear();
        output.read_line(&mut line).unwrap();
        assert!(line.starts_with("thread "), "{line:?}");
    }
    waits.join().unwrap();
    // SAFETY: the numbers belong to open files.
    assert_eq!(unsafe { libc::dup2(own, libc::STDOUT_FILENO) }, libc::STDOUT_FILENO);
    println!("read {} lines", 16 * 1024);
}
