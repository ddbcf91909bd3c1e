//! Kernels: loading them from PTX and launching them.

use std::ffi::{CStr, c_void};
use std::ptr;

use cudarc::driver::sys;

use super::memory::Span;
use super::refusal::Outcome;
use super::stream::Stream;

/// A loaded module, which is never unloaded.
#[derive(Debug)]
pub struct Module(sys::CUmodule);

/// A kernel of this crate. Its parameters are an address, a count of 4-byte elements, and two
/// numbers.
#[derive(Debug, Clone, Copy)]
pub struct Function(sys::CUfunction);

// SAFETY: the driver's calls on a kernel may be made from any thread.
// The kernel's module is never unloaded.
unsafe impl Send for Function {}
// SAFETY: the driver's calls on a kernel may be made from any thread, and the value never changes.
unsafe impl Sync for Function {}

/// The number of threads in a block.
const BLOCK: u32 = 128;

impl Module {
    /// Loads a module from PTX.
    ///
    /// # Errors
    ///
    /// Returns the driver's error code.
    pub fn load(text: &'static CStr) -> Outcome<Self> {
        let mut module = ptr::null_mut();
        // SAFETY: the output variable outlives the call, and the text ends with a zero byte.
        unsafe { call!(cuModuleLoadData(&raw mut module, text.as_ptr().cast())) }?;
        Ok(Self(module))
    }

    /// Returns a kernel of the module.
    ///
    /// # Errors
    ///
    /// Returns the driver's error code.
    pub fn function(&self, name: &'static CStr) -> Outcome<Function> {
        let mut function = ptr::null_mut();
        // SAFETY: the module is never unloaded.
        // The output variable outlives the call, and the name ends with a zero byte.
        unsafe { call!(cuModuleGetFunction(&raw mut function, self.0, name.as_ptr())) }?;
        Ok(Function(function))
    }
}

impl Function {
    /// Launches the kernel over a span, after the stream's earlier work.
    ///
    /// # Errors
    ///
    /// Returns the driver's error code.
    pub fn launch(&self, stream: &Stream, span: Span, first: u64, second: u32) -> Outcome<()> {
        self.launch_as(stream, span, first, second, None)
    }

    /// Launches the kernel as a programmatic dependent of the previous kernel. It may start before
    /// the previous kernel ends.
    ///
    /// # Errors
    ///
    /// Returns the driver's error code.
    pub fn launch_dependent(
        &self,
        stream: &Stream,
        span: Span,
        first: u64,
        second: u32,
    ) -> Outcome<()> {
        let attribute = sys::CUlaunchAttribute {
            id:
                sys::CUlaunchAttributeID_enum::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
            pad: [0; 4],
            value: sys::CUlaunchAttributeValue { programmaticStreamSerializationAllowed: 1 },
        };
        self.launch_as(stream, span, first, second, Some(attribute))
    }

    fn launch_as(
        &self,
        stream: &Stream,
        span: Span,
        mut first: u64,
        mut second: u32,
        mut attribute: Option<sys::CUlaunchAttribute>,
    ) -> Outcome<()> {
        let mut address = span.address();
        let mut count = u32::try_from(span.bytes() / 4).unwrap_or(u32::MAX);
        let mut arguments: [*mut c_void; 4] = [
            (&raw mut address).cast(),
            (&raw mut count).cast(),
            (&raw mut first).cast(),
            (&raw mut second).cast(),
        ];
        let config = sys::CUlaunchConfig {
            gridDimX: count.div_ceil(BLOCK).max(1),
            gridDimY: 1,
            gridDimZ: 1,
            blockDimX: BLOCK,
            blockDimY: 1,
            blockDimZ: 1,
            sharedMemBytes: 0,
            hStream: stream.raw(),
            attrs: attribute.as_mut().map_or(ptr::null_mut(), ptr::from_mut),
            numAttrs: u32::from(attribute.is_some()),
        };
        if attribute.is_none() {
            return self.launch_plainly(&config, &mut arguments);
        }
        let arguments = arguments.as_mut_ptr();
        // SAFETY: every kernel of this crate takes these four parameters of 8, 4, 8 and 4 bytes.
        // The parameters are read before the call returns.
        // The kernels write within the span, or to an address that has no memory.
        // The attribute outlives the call.
        unsafe { call!(cuLaunchKernelEx(&raw const config, self.0, arguments, ptr::null_mut())) }
    }

    fn launch_plainly(
        &self,
        config: &sys::CUlaunchConfig,
        arguments: &mut [*mut c_void; 4],
    ) -> Outcome<()> {
        // SAFETY: every kernel of this crate takes these four parameters of 8, 4, 8 and 4 bytes.
        // The parameters are read before the call returns.
        // The kernels write within the span, or to an address that has no memory.
        unsafe {
            call!(cuLaunchKernel(
                self.0,
                config.gridDimX,
                config.gridDimY,
                config.gridDimZ,
                config.blockDimX,
                config.blockDimY,
                config.blockDimZ,
                config.sharedMemBytes,
                config.hStream,
                arguments.as_mut_ptr(),
                ptr::null_mut()
            ))
        }
    }
}
