//! The crate's error type. Each error states the request, the limit, and what to do.

use std::fmt;

use pool_core::ShapeError;
use thiserror::Error;

/// The reason why the crate could not allocate memory, or record, submit or read work.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum WgpuError {
    /// No adapter of the requested kind exists.
    #[error(
        "wgpu found no adapter ({message}): install a driver, or enable the pool-wgpu feature for \
         your system's API (vulkan, metal, dx12, webgpu)"
    )]
    NoAdapter {
        /// wgpu's message.
        message: String,
    },
    /// An adapter exists, but it offers no device with the requested features and limits.
    #[error("the adapter {adapter} cannot provide the requested device: {message}")]
    NoDevice {
        /// The name of the adapter.
        adapter: String,
        /// wgpu's message.
        message: String,
    },
    /// A stream is already in use on this thread. The call was made in a closure of
    /// [`Stream::record`](crate::Stream::record), or in code that wgpu runs during a call of a
    /// stream: an error handler, a callback, or a log subscriber.
    #[error(
        "a stream is already in use on this thread: make this call after the closure passed to \
         `record`, or the callback, has returned"
    )]
    Reentered,
    /// The thread is ending: the call was made in the destructor of a thread-local variable, where
    /// wgpu cannot be called.
    #[error(
        "wgpu cannot be called while the thread drops its thread-local variables: drop all values \
         that use the stream before the thread's function returns, or send them to another thread"
    )]
    ThreadEnding,
    /// The queue does not belong to the device.
    #[error(
        "the queue belongs to another device: pass the device and the queue from the same call of \
         `request_device`"
    )]
    OtherQueue,
    /// The device is lost, together with the contents of its buffers. Every later call returns this
    /// error.
    #[error(
        "the device was lost, along with the contents of its buffers: create a new device, a \
         stream on that device, and new pools"
    )]
    DeviceLost,
    /// The device is out of memory.
    #[error("the device cannot allocate {bytes} bytes: {message}")]
    OutOfMemory {
        /// The requested bytes.
        bytes: u64,
        /// wgpu's message.
        message: String,
    },
    /// The requested size exceeds the largest buffer that the device supports.
    #[error(
        "{bytes} bytes exceed the device's largest buffer of {limit} bytes: ask the adapter for a \
         higher `max_buffer_size`, or acquire in parts"
    )]
    BufferTooLarge {
        /// The requested bytes.
        bytes: u64,
        /// The device's `max_buffer_size`, in bytes.
        limit: u64,
    },
    /// The view exceeds the device's limit for one binding.
    #[error(
        "a view of {bytes} bytes exceeds the device's limit of {limit} bytes for one binding: bind \
         parts of the view, or ask the adapter for a higher `max_storage_buffer_binding_size`"
    )]
    BindingTooLarge {
        /// The size of the view, in bytes.
        bytes: u64,
        /// The device's `max_storage_buffer_binding_size`, in bytes.
        limit: u64,
    },
    /// Part of a view starts at an offset that does not satisfy the device's alignment for
    /// bindings.
    #[error(
        "a part that starts at byte {offset} of its buffer cannot be bound: the device requires an \
         offset that is a multiple of {alignment} bytes"
    )]
    Misaligned {
        /// The offset of the part in its buffer, in bytes.
        offset: u64,
        /// The required alignment of `offset`, in bytes.
        alignment: u64,
    },
    /// A writable binding was requested for part of a view that does not end at a multiple of 4
    /// bytes. The kernel would also write the first bytes of the next part.
    #[error(
        "a part that ends at byte {end} of its buffer cannot be bound for writing: a binding ends \
         at a multiple of 4 bytes, and the bytes up to that multiple belong to another part"
    )]
    UnevenEnd {
        /// The end of the part in its buffer, in bytes.
        end: u64,
    },
    /// The view is empty, and an empty view cannot be bound.
    #[error("an empty view cannot be bound: bind a view of at least one element")]
    EmptyBinding,
    /// The number of bindings passed differs from the number that the kernel declares.
    #[error("the kernel `{kernel}` declares {declared} bindings, but {given} were passed")]
    BindingCount {
        /// The name of the kernel's entry point.
        kernel: String,
        /// The number of bindings that the kernel declares.
        declared: usize,
        /// The number of bindings passed.
        given: usize,
    },
    /// A kernel writes to a binding that was created for reading.
    #[error(
        "the kernel `{kernel}` writes to its binding {binding}, which was created for reading: \
         pass a writable binding"
    )]
    ReadOnlyBinding {
        /// The name of the kernel's entry point.
        kernel: String,
        /// The index of the binding, from 0.
        binding: usize,
    },
    /// Two bindings of one dispatch lie in the same buffer and conflict. Either one is read and the
    /// other written, or both are written and overlap.
    #[error(
        "the bindings {first} and {second} of the kernel `{kernel}` are in the same buffer, and \
         the kernel writes to the buffer: declare both `read_write` and bind parts that do not \
         overlap, bind the parts together, or copy one of them"
    )]
    SharedBuffer {
        /// The name of the kernel's entry point.
        kernel: String,
        /// The index of the first binding, from 0.
        first: usize,
        /// The index of the second binding, from 0.
        second: usize,
    },
    /// A binding refers to memory of another stream, and this stream does not order that stream's
    /// work.
    #[error(
        "memory of another stream cannot be bound on this stream: create both pools on one stream, \
         or copy with `copy_from`"
    )]
    OtherStream,
    /// The kernel was compiled for another stream.
    #[error(
        "the kernel `{kernel}` was compiled for another stream: compile the kernel for this stream"
    )]
    OtherKernel {
        /// The name of the kernel's entry point.
        kernel: String,
    },
    /// The parameters exceed the limit of one dispatch.
    #[error(
        "{bytes} bytes of parameters exceed the limit of {limit} bytes for one dispatch: put the \
         parameters into a view"
    )]
    TooManyParameters {
        /// The bytes of parameters passed.
        bytes: usize,
        /// The maximum, in bytes.
        limit: usize,
    },
    /// The number of workgroups along one axis exceeds the device's limit.
    #[error(
        "{groups} workgroups along axis {axis} exceed the device's limit of {limit}: let each \
         invocation process several elements, or use another axis"
    )]
    TooManyGroups {
        /// The axis, from 0.
        axis: usize,
        /// The requested number of workgroups.
        groups: u32,
        /// The device's `max_compute_workgroups_per_dimension`.
        limit: u32,
    },
    /// The kernel declares more bindings than the device supports for one kernel.
    #[error(
        "the kernel `{kernel}` declares {declared} bindings, but the device's limit is {limit}"
    )]
    TooManyBindings {
        /// The name of the kernel's entry point.
        kernel: String,
        /// The number of bindings declared.
        declared: usize,
        /// The device's `max_storage_buffers_per_shader_stage`.
        limit: usize,
    },
    /// The kernel does not compile, or its bindings differ from those declared.
    #[error("the kernel `{kernel}` does not compile: {message}")]
    Compilation {
        /// The name of the kernel's entry point.
        kernel: String,
        /// wgpu's message.
        message: String,
    },
    /// An element type requires a feature that was not enabled when the device was opened.
    #[error(
        "the device lacks the feature {feature}, which kernels with elements of type {element} \
         require: request the feature when you open the device"
    )]
    MissingFeature {
        /// The name of the element type.
        element: &'static str,
        /// The name of the wgpu feature.
        feature: &'static str,
    },
    /// wgpu rejected the arguments of a call. The call had no effect, and earlier commands stay
    /// recorded. The exception is [`Stream::submit_with`](crate::Stream::submit_with): it has
    /// already submitted the recorded commands, and your command buffers before the rejected one.
    #[error("wgpu rejected the call, which had no effect: {message}")]
    Refused {
        /// wgpu's message.
        message: String,
    },
    /// wgpu rejected recorded commands when they were submitted, because a resource that they use
    /// is mapped or destroyed. wgpu rejects the commands of one closure of
    /// [`Stream::record`](crate::Stream::record), or those between two closures, and executes the
    /// others. Each thread that recorded some of the rejected commands receives this error once. If
    /// the message concerns `Buffer::map_async`, a mapping by `map_buffer_on_submit` failed, and
    /// the commands were executed.
    #[error(
        "wgpu rejected recorded commands, and executed no command that was recorded together with \
         them: {message}. Do not map or destroy a resource of the commands before `submit` has \
         returned"
    )]
    SubmissionRefused {
        /// wgpu's message.
        message: String,
    },
    /// The buffer of a block was destroyed, using a handle from
    /// [`Binding::resource`](crate::Binding::resource).
    #[error(
        "the buffer of the block {identity:#x} ({bytes} bytes) was destroyed with \
         `wgpu::Buffer::destroy`: end the scope and call `trim` on the pool, which then allocates \
         another buffer"
    )]
    BufferDestroyed {
        /// The number that identifies the block, as in
        /// [`BufferView::address`](crate::BufferView::address).
        identity: u64,
        /// The buffer's size, in bytes.
        bytes: u64,
    },
    /// The closure of [`Stream::record`](crate::Stream::record) replaced its encoder. The closure's
    /// commands are dropped, and earlier ones stay recorded.
    #[error(
        "the closure passed to `record` replaced its encoder: record into the given encoder, or \
         pass your own command buffers to `submit_with`"
    )]
    ExchangedEncoder,
    /// The call cannot block until the contents arrive, because the browser's event loop must run.
    /// Await [`read`](crate::BufferView::read) instead.
    #[error("a browser cannot block until the contents arrive: await `read()` instead")]
    CannotWait,
    /// The staging buffer that holds the contents could not be mapped.
    #[error("the contents could not be read back: {message}")]
    Unreadable {
        /// wgpu's message.
        message: String,
    },
    /// The shape does not fit the array.
    #[error(transparent)]
    Shape(#[from] ShapeError),
}

impl WgpuError {
    /// Creates the error for a call that wgpu rejected, with wgpu's message.
    pub(crate) fn refused(error: &impl fmt::Display) -> Self {
        Self::Refused { message: error.to_string() }
    }
}
