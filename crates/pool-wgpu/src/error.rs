//! The error type of the crate: the request, the limits, and advice.

use std::fmt;

use pool_core::ShapeError;
use thiserror::Error;

/// The reason why memory could not be allocated, or work could not be recorded, submitted or read.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum WgpuError {
    /// There is no adapter of the requested kind.
    #[error(
        "wgpu finds no adapter ({message}): install a driver, or turn on the feature of pool-wgpu for this system's \
         API (vulkan, metal, dx12, webgpu)"
    )]
    NoAdapter {
        /// wgpu's message.
        message: String,
    },
    /// There is an adapter, but it has no device with the requested features and limits.
    #[error("the adapter {adapter} has no such device: {message}")]
    NoDevice {
        /// The name of the adapter.
        adapter: String,
        /// wgpu's message.
        message: String,
    },
    /// A stream is in use on this thread: the call came from the closure of
    /// [`Stream::record`](crate::Stream::record), or from code that wgpu calls in the middle of a
    /// call of a stream. Such code is an error handler, a callback, or a subscriber of logs.
    #[error(
        "a stream is in use on this thread: make this call after the closure of `record`, or after the callback, \
         has returned"
    )]
    Reentered,
    /// The thread is ending: the call came from the destructor of a thread-local variable, where
    /// wgpu cannot be called.
    #[error(
        "wgpu cannot be called while the thread drops its thread-local variables: drop what uses the stream before \
         the thread's function returns, or send it to another thread"
    )]
    ThreadEnding,
    /// The queue does not belong to the device.
    #[error(
        "the queue belongs to another device: pass the device and the queue from the same call of `request_device`"
    )]
    OtherQueue,
    /// The device is lost, and the contents of its buffers with it. Every later call returns this
    /// error.
    #[error(
        "the device is lost: make a stream of a new device, and new pools; the contents of the buffers are lost"
    )]
    DeviceLost,
    /// The device has no memory for a buffer.
    #[error("the device cannot allocate {bytes} bytes: {message}")]
    OutOfMemory {
        /// Bytes requested.
        bytes: u64,
        /// wgpu's message.
        message: String,
    },
    /// The request exceeds the device's largest buffer.
    #[error(
        "{bytes} bytes exceed the device's largest buffer of {limit} bytes: ask the adapter for a higher \
         `max_buffer_size`, or acquire in parts"
    )]
    BufferTooLarge {
        /// Bytes requested.
        bytes: u64,
        /// The device's `max_buffer_size`, in bytes.
        limit: u64,
    },
    /// The view exceeds the device's limit of a binding.
    #[error(
        "a view of {bytes} bytes exceeds the {limit} bytes of one binding: bind parts of the view, or ask the adapter \
         for a higher `max_storage_buffer_binding_size`"
    )]
    BindingTooLarge {
        /// The view's bytes.
        bytes: u64,
        /// The device's `max_storage_buffer_binding_size`, in bytes.
        limit: u64,
    },
    /// A part of a view starts at an offset at which the device cannot bind.
    #[error(
        "a part that starts at byte {offset} of its buffer cannot be bound: the device binds at multiples of \
         {alignment} bytes"
    )]
    Misaligned {
        /// The start of the part in its buffer, in bytes.
        offset: u64,
        /// The required alignment of `offset`, in bytes.
        alignment: u64,
    },
    /// A part of a view does not end at a word of four bytes, but is bound for writing: the kernel
    /// would write bytes of the next part.
    #[error(
        "a part that ends at byte {end} of its buffer cannot be bound for writing: bindings end at multiples of 4 \
         bytes, and the next bytes belong to another part"
    )]
    UnevenEnd {
        /// The end of the part in its buffer, in bytes.
        end: u64,
    },
    /// A view of no bytes, which cannot be bound.
    #[error("a view of no bytes cannot be bound")]
    EmptyBinding,
    /// The number of bindings passed differs from the number that the kernel declares.
    #[error("the kernel `{kernel}` declares {declared} bindings, but got {given}")]
    BindingCount {
        /// The name of the kernel's entry point.
        kernel: String,
        /// The number of bindings that the kernel declares.
        declared: usize,
        /// The number of bindings passed.
        given: usize,
    },
    /// A kernel writes to a binding that was made for reading.
    #[error("the kernel `{kernel}` writes to its binding {binding}, which was made for reading")]
    ReadOnlyBinding {
        /// The name of the kernel's entry point.
        kernel: String,
        /// The index of the binding, from 0.
        binding: usize,
    },
    /// Two bindings of one dispatch are in one buffer. One is read and the other written, or both
    /// are written and overlap.
    #[error(
        "the kernel `{kernel}` has its bindings {first} and {second} in one buffer, and writes: declare both \
         `read_write` and bind parts that do not overlap, bind the parts together, or copy one of them"
    )]
    SharedBuffer {
        /// The name of the kernel's entry point.
        kernel: String,
        /// The index of one binding, from 0.
        first: usize,
        /// The index of the other binding.
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
    /// The parameters exceed the limit of a dispatch.
    #[error(
        "{bytes} bytes of parameters exceed the {limit} bytes of one dispatch: put them into a view"
    )]
    TooManyParameters {
        /// Bytes of parameters.
        bytes: usize,
        /// The maximum bytes of parameters.
        limit: usize,
    },
    /// The workgroups along one axis exceed the device's limit.
    #[error(
        "{groups} workgroups along axis {axis} exceed the device's {limit}: let each invocation process several \
         elements, or use another axis"
    )]
    TooManyGroups {
        /// The axis, from 0.
        axis: usize,
        /// Workgroups requested.
        groups: u32,
        /// The device's `max_compute_workgroups_per_dimension`.
        limit: u32,
    },
    /// The kernel declares more bindings than a kernel of this device can have.
    #[error(
        "the kernel `{kernel}` declares {declared} bindings, but the device's limit is {limit}"
    )]
    TooManyBindings {
        /// The name of the kernel's entry point.
        kernel: String,
        /// Bindings declared.
        declared: usize,
        /// The device's `max_storage_buffers_per_shader_stage`.
        limit: usize,
    },
    /// A kernel does not compile, or its bindings differ from the declared ones.
    #[error("the kernel `{kernel}` does not compile: {message}")]
    Compilation {
        /// The name of the kernel's entry point.
        kernel: String,
        /// wgpu's message.
        message: String,
    },
    /// An element type needs a feature that the device was not opened with.
    #[error(
        "kernels compute with {element} only on a device with the feature {feature}, which this one lacks"
    )]
    MissingFeature {
        /// The name of the element type.
        element: &'static str,
        /// The name of the wgpu feature.
        feature: &'static str,
    },
    /// wgpu refuses the arguments of a call. The call has done nothing, and earlier commands stay
    /// recorded. An exception is [`Stream::submit_with`](crate::Stream::submit_with), which has
    /// submitted those, and the buffers before the refused one.
    #[error("wgpu refuses the call, which has done nothing: {message}")]
    Refused {
        /// wgpu's message.
        message: String,
    },
    /// wgpu refuses recorded commands when they are submitted, because a resource that they use is
    /// mapped or destroyed. The refused commands are those of one closure of
    /// [`Stream::record`](crate::Stream::record), or those between two closures; the others are
    /// executed. Each thread that recorded some of them gets this error once. A message about
    /// `Buffer::map_async` is about a mapping of `map_buffer_on_submit`: then the commands are
    /// executed.
    #[error(
        "wgpu refuses recorded commands, and executes none of those recorded together: {message}. Do not map or \
         destroy what commands use before `submit` has returned"
    )]
    SubmissionRefused {
        /// wgpu's message.
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
    /// The closure of [`Stream::record`](crate::Stream::record) has replaced its encoder by another
    /// one. Its commands are dropped; earlier ones stay recorded.
    #[error(
        "the closure of `record` has replaced its encoder: record into the encoder passed to it, \
         or pass command buffers of your own to `submit_with`"
    )]
    ExchangedEncoder,
    /// The call cannot wait for the contents: in a browser the event loop must run. Await
    /// [`read`](crate::BufferView::read).
    #[error("a browser cannot wait: await `read()`")]
    CannotWait,
    /// The buffer with the contents could not be mapped.
    #[error("the contents could not be read back: {message}")]
    Unreadable {
        /// wgpu's message.
        message: String,
    },
    /// A shape that does not fit.
    #[error(transparent)]
    Shape(#[from] ShapeError),
}

impl WgpuError {
    /// Makes the error for a refusal by wgpu, with wgpu's message.
    pub(crate) fn refused(error: &impl fmt::Display) -> Self {
        Self::Refused { message: error.to_string() }
    }
}
