//! The one error of the crate: what was asked of wgpu, what the limits are, and what to do.

use std::fmt;

use pool_core::ShapeError;
use thiserror::Error;

/// Why memory could not be had, or work could not be recorded, submitted or read.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum WgpuError {
    /// There is no adapter of the kind that was asked for.
    #[error(
        "wgpu finds no adapter ({message}): install a driver, or turn on the feature of pool-wgpu for this system's \
         API (vulkan, metal, dx12, webgpu)"
    )]
    NoAdapter {
        /// What wgpu says of it.
        message: String,
    },
    /// There is an adapter, which gives no device with the features and limits that were asked for.
    #[error("the adapter {adapter} gives no device: {message}")]
    NoDevice {
        /// The name of the adapter.
        adapter: String,
        /// What wgpu says of it.
        message: String,
    },
    /// A stream is in use on this thread: the call came from the closure of
    /// [`Stream::record`](crate::Stream::record), or from code that wgpu calls (an error handler, a callback, a
    /// subscriber of logs) in the middle of a call of a stream.
    #[error(
        "a stream is in use on this thread: make this call after the closure of `record`, or after the callback, \
         has returned"
    )]
    Reentered,
    /// The thread ends: the call came from the destructor of a thread-local variable, where wgpu cannot be called.
    #[error(
        "wgpu cannot be called while the thread drops its thread-local variables: drop what uses the stream before \
         the thread's function returns, or send it to another thread"
    )]
    ThreadEnding,
    /// The queue is not that of the device.
    #[error(
        "the queue belongs to another device: pass the device and the queue that one `request_device` has returned"
    )]
    OtherQueue,
    /// The device is lost, and with it the contents of its buffers. Every call says so from then on.
    #[error(
        "the device is lost: make a stream of a new device, and new pools; what the buffers held is gone"
    )]
    DeviceLost,
    /// The device has no memory for a buffer.
    #[error("the device has no {bytes} bytes: {message}")]
    OutOfMemory {
        /// Bytes asked for.
        bytes: u64,
        /// What wgpu says of it.
        message: String,
    },
    /// More bytes than the device's largest buffer has.
    #[error(
        "{bytes} bytes are more than the device's largest buffer of {limit}: ask the adapter for a higher \
         `max_buffer_size`, or acquire in parts"
    )]
    BufferTooLarge {
        /// Bytes asked for.
        bytes: u64,
        /// The device's `max_buffer_size`, in bytes.
        limit: u64,
    },
    /// More bytes than one binding may have.
    #[error(
        "a view of {bytes} bytes is more than the {limit} of one binding: bind parts of the view, or ask the adapter \
         for a higher `max_storage_buffer_binding_size`"
    )]
    BindingTooLarge {
        /// The view's bytes.
        bytes: u64,
        /// The device's `max_storage_buffer_binding_size`, in bytes.
        limit: u64,
    },
    /// A part of a view that starts where no binding may start.
    #[error(
        "a part that starts at byte {offset} of its buffer cannot be bound: the device binds at multiples of \
         {alignment} bytes"
    )]
    Misaligned {
        /// The start of the part in its buffer, in bytes.
        offset: u64,
        /// What `offset` must be a multiple of, in bytes.
        alignment: u64,
    },
    /// A part of a view that does not end at a word of four bytes, bound to be written: the kernel would write bytes
    /// of the part's neighbour.
    #[error(
        "a part that ends at byte {end} of its buffer cannot be bound to be written: bindings end at multiples of 4 \
         bytes, and what follows is another part's"
    )]
    UnevenEnd {
        /// The end of the part in its buffer, in bytes.
        end: u64,
    },
    /// A view of no bytes, of which there is no binding.
    #[error("a view of no bytes cannot be bound")]
    EmptyBinding,
    /// A kernel was given another number of bindings than it declares.
    #[error("the kernel `{kernel}` has {declared} bindings, and was given {given}")]
    BindingCount {
        /// The name of the kernel's entry point.
        kernel: String,
        /// How many bindings the kernel declares.
        declared: usize,
        /// How many it was given.
        given: usize,
    },
    /// A kernel writes to a binding that was made to be read.
    #[error(
        "the kernel `{kernel}` writes to its binding {binding}, which is made of a view to be read"
    )]
    ReadOnlyBinding {
        /// The name of the kernel's entry point.
        kernel: String,
        /// Which of the bindings, from 0.
        binding: usize,
    },
    /// Two bindings of one dispatch are in one buffer: one is read and the other written, or both are written and
    /// have bytes in common.
    #[error(
        "the kernel `{kernel}` has its bindings {first} and {second} in one buffer, and writes: declare both \
         `read_write` and bind parts that do not overlap, bind the parts together, or copy one of them"
    )]
    SharedBuffer {
        /// The name of the kernel's entry point.
        kernel: String,
        /// Which of the bindings, from 0.
        first: usize,
        /// The other binding.
        second: usize,
    },
    /// A binding of another stream's memory, which this stream does not order.
    #[error(
        "memory of another stream cannot be bound here: make both pools on one stream, or copy with `copy_from`"
    )]
    OtherStream,
    /// A kernel that was compiled for another device.
    #[error("the kernel `{kernel}` was compiled for another stream: compile it for this one")]
    OtherKernel {
        /// The name of the kernel's entry point.
        kernel: String,
    },
    /// More parameters than a dispatch takes.
    #[error(
        "{bytes} bytes of parameters are more than the {limit} of one dispatch: put them into a view"
    )]
    TooManyParameters {
        /// Bytes of parameters.
        bytes: usize,
        /// The most bytes of parameters.
        limit: usize,
    },
    /// More workgroups than the device dispatches along one axis.
    #[error(
        "{groups} workgroups along axis {axis} are more than the device's {limit}: let each invocation do several \
         elements, or use another axis"
    )]
    TooManyGroups {
        /// The axis, from 0.
        axis: usize,
        /// Workgroups asked for.
        groups: u32,
        /// The device's `max_compute_workgroups_per_dimension`.
        limit: u32,
    },
    /// More bindings than a kernel of this device can have.
    #[error(
        "the kernel `{kernel}` declares {declared} bindings, and the device has {limit} at most"
    )]
    TooManyBindings {
        /// The name of the kernel's entry point.
        kernel: String,
        /// Bindings declared.
        declared: usize,
        /// The device's `max_storage_buffers_per_shader_stage`.
        limit: usize,
    },
    /// A kernel does not compile, or its bindings are other ones than declared.
    #[error("the kernel `{kernel}` does not compile: {message}")]
    Compilation {
        /// The name of the kernel's entry point.
        kernel: String,
        /// What wgpu says of it.
        message: String,
    },
    /// An element type needs a feature that the device was not opened with.
    #[error(
        "kernels compute with {element} where the device has the feature {feature}, and this one has not"
    )]
    MissingFeature {
        /// The name of the element type.
        element: &'static str,
        /// The name of the wgpu feature.
        feature: &'static str,
    },
    /// wgpu refuses the arguments of a call. The call has done nothing, and what was recorded before stays recorded; only
    /// [`Stream::submit_with`](crate::Stream::submit_with) has submitted that, and the buffers before the refused one.
    #[error("wgpu refuses the call, which has done nothing: {message}")]
    Refused {
        /// What wgpu says of it.
        message: String,
    },
    /// wgpu refuses recorded commands when they are submitted, because something that they use is mapped or
    /// destroyed. The commands of one closure of [`Stream::record`](crate::Stream::record), or those between two
    /// closures, are not done; the others are. Each thread that recorded some of them gets this error once. The text
    /// of a mapping that `map_buffer_on_submit` asked for names `Buffer::map_async`: then the commands are done.
    #[error(
        "wgpu refuses recorded commands, and does none of those that were recorded together: {message}. Do not map or \
         destroy what commands use before `submit` has returned"
    )]
    SubmissionRefused {
        /// What wgpu says of it.
        message: String,
    },
    /// The buffer of a block was destroyed, through [`Binding::resource`](crate::Binding::resource).
    #[error(
        "the buffer of the block {identity:#x}, of {bytes} bytes, was destroyed by `wgpu::Buffer::destroy`: end the \
         scope and call `trim` on the pool, which then allocates another one"
    )]
    BufferDestroyed {
        /// The block's number, as [`BufferView::address`](crate::BufferView::address) counts.
        identity: u64,
        /// The buffer's size, in bytes.
        bytes: u64,
    },
    /// The closure of [`Stream::record`](crate::Stream::record) has put another encoder in the place of its own.
    /// Nothing of what it recorded is done; what was recorded before stays recorded.
    #[error(
        "the closure of `record` has exchanged its encoder for another one: record into the encoder that it is given, \
         or pass command buffers of your own to `submit_with`"
    )]
    ExchangedEncoder,
    /// The contents cannot be waited for here: in a browser the event loop must go on. Await
    /// [`read`](crate::BufferView::read).
    #[error("nothing can be waited for in a browser: await `read()`")]
    CannotWait,
    /// What was read could not be mapped.
    #[error("the contents could not be read back: {message}")]
    Unreadable {
        /// What wgpu says of it.
        message: String,
    },
    /// A shape that does not fit.
    #[error(transparent)]
    Shape(#[from] ShapeError),
}

impl WgpuError {
    /// The error for something that wgpu refuses, in wgpu's words.
    pub(crate) fn refused(error: &impl fmt::Display) -> Self {
        Self::Refused { message: error.to_string() }
    }
}
