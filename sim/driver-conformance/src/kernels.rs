//! The kernels that the questions launch. Their PTX runs on any device since Maxwell.
//!
//! Each kernel takes an address, a count of 4-byte elements, and two more numbers.

use std::ffi::CStr;

use crate::driver::{self, Function, Module, Outcome, Span, Stream};

/// `multiply_add` multiplies every element by `first` and adds `second`, as unsigned integers.
/// `axpy` adds to every float the matching element of the array at address `first`, multiplied by
/// the float whose bits are `second`. `stray` stores to the address `first`, whether it is valid or
/// not.
const TEXT: &CStr = c"
.version 6.0
.target sm_52
.address_size 64

.visible .entry multiply_add(.param .u64 at, .param .u32 count, .param .u64 first, .param .u32 second)
{
    .reg .pred %p<2>;
    .reg .b32 %r<9>;
    .reg .b64 %rd<6>;
    ld.param.u64 %rd1, [at];
    ld.param.u32 %r1, [count];
    ld.param.u64 %rd2, [first];
    ld.param.u32 %r2, [second];
    mov.u32 %r3, %ctaid.x;
    mov.u32 %r4, %ntid.x;
    mov.u32 %r5, %tid.x;
    mad.lo.s32 %r6, %r3, %r4, %r5;
    setp.ge.u32 %p1, %r6, %r1;
    @%p1 bra DONE;
    cvta.to.global.u64 %rd3, %rd1;
    mul.wide.u32 %rd4, %r6, 4;
    add.s64 %rd5, %rd3, %rd4;
    cvt.u32.u64 %r7, %rd2;
    ld.global.u32 %r8, [%rd5];
    mad.lo.s32 %r8, %r8, %r7, %r2;
    st.global.u32 [%rd5], %r8;
DONE:
    ret;
}

.visible .entry axpy(.param .u64 at, .param .u32 count, .param .u64 first, .param .u32 second)
{
    .reg .pred %p<2>;
    .reg .f32 %f<4>;
    .reg .b32 %r<7>;
    .reg .b64 %rd<8>;
    ld.param.u64 %rd1, [at];
    ld.param.u32 %r1, [count];
    ld.param.u64 %rd2, [first];
    ld.param.u32 %r2, [second];
    mov.u32 %r3, %ctaid.x;
    mov.u32 %r4, %ntid.x;
    mov.u32 %r5, %tid.x;
    mad.lo.s32 %r6, %r3, %r4, %r5;
    setp.ge.u32 %p1, %r6, %r1;
    @%p1 bra DONE;
    cvta.to.global.u64 %rd3, %rd1;
    cvta.to.global.u64 %rd4, %rd2;
    mul.wide.u32 %rd5, %r6, 4;
    add.s64 %rd6, %rd3, %rd5;
    add.s64 %rd7, %rd4, %rd5;
    mov.b32 %f1, %r2;
    ld.global.f32 %f2, [%rd6];
    ld.global.f32 %f3, [%rd7];
    fma.rn.f32 %f2, %f1, %f3, %f2;
    st.global.f32 [%rd6], %f2;
DONE:
    ret;
}

.visible .entry stray(.param .u64 at, .param .u32 count, .param .u64 first, .param .u32 second)
{
    .reg .b32 %r<2>;
    .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [first];
    ld.param.u32 %r1, [second];
    st.global.u32 [%rd1], %r1;
    ret;
}
";

/// The kernels after loading.
#[derive(Debug, Clone, Copy)]
pub struct Kernels {
    /// Multiplies every element by the first number and adds the second.
    pub multiply_add: Function,
    /// Adds to every element the matching element of a second array, multiplied by a factor. The
    /// first number is the address of that array, and the second holds the bits of the factor.
    pub axpy: Function,
    /// Stores to the address that the first number contains.
    stray: Function,
}

impl Kernels {
    /// Loads the kernels and launches each once. Drivers load code lazily, which would interfere
    /// with a question about captures.
    ///
    /// # Errors
    ///
    /// Returns the driver's error code.
    pub fn load() -> Outcome<Self> {
        let kernels = Self::load_only()?;
        let (stream, span) = (Stream::non_blocking()?, driver::allocate(4)?);
        for kernel in [kernels.multiply_add, kernels.axpy, kernels.stray] {
            kernel.launch(&stream, span, span.address(), 0)?;
        }
        stream.synchronize()?;
        Ok(kernels)
    }

    /// Loads the kernels without launching any.
    ///
    /// # Errors
    ///
    /// Returns the driver's error code.
    pub fn load_only() -> Outcome<Self> {
        let module = Module::load(TEXT)?;
        Ok(Self {
            multiply_add: module.function(c"multiply_add")?,
            axpy: module.function(c"axpy")?,
            stray: module.function(c"stray")?,
        })
    }

    /// Launches a kernel that stores to an address that has no memory.
    ///
    /// # Errors
    ///
    /// Returns the error code of the launch. The fault itself is reported later.
    pub fn fault(&self, stream: &Stream, anywhere: Span) -> Outcome<()> {
        // The first page of addresses is not mapped, on the device as on the host.
        self.stray.launch(stream, anywhere.part(0, 4), 16, 1)
    }
}

#[cfg(test)]
mod tests {
    use super::TEXT;

    /// Prints the PTX for `ptxas` if the test runs with `--nocapture`.
    #[test]
    fn every_kernel_takes_the_same_four_parameters() {
        let text = TEXT.to_str().unwrap();
        let entries: Vec<&str> =
            text.lines().filter(|line| line.starts_with(".visible .entry")).collect();
        assert_eq!(entries.len(), 3);
        let parameters =
            "(.param .u64 at, .param .u32 count, .param .u64 first, .param .u32 second)";
        for entry in entries {
            assert!(entry.ends_with(parameters), "{entry}");
        }
        println!("{text}");
    }
}
