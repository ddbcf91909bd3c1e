//! Defines this crate's error type. Each error states the request, the limit, and a possible
//! remedy.

use std::fmt;

use pool_core::ShapeError;
use thiserror::Error;

/// An error that explains why memory could not be allocated, why work could not be recorded or
/// submitted, or why results could not be read back.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum WgpuError {
    /// There is no adapter of the requested kind.
    #[error(
        "wgpu found no adapter ({message}): install a driver, or enable the pool-wgpu feature for \
         your system's API (vulkan, metal, dx12, webgpu)"
    )]
    NoAdapter {
        /// The message that wgpu returned.
        message: String,
    },
    /// The adapter does not offer a device with the requested features and limits.
    #[error("the adapter {adapter} cannot provide the requested device: {message}")]
    NoDevice {
        /// The name of the adapter.
        adapter: String,
        /// The message that wgpu returned.
        message: String,
    },
    /// A stream is already in use on this thread. The call was made in the closure passed to
    /// [`Stream::record`](crate::Stream::record), or in code that wgpu runs during another call to
    /// a stream. During a call, wgpu can run error handlers, callbacks, and log subscribers.
    #[error(
        "a stream is already in use on this thread: make this call only after the callback, or the \
         closure passed to `record`, has returned"
    )]
    Reentered,
    /// The thread is ending. The call was made in the destructor of a thread-local variable, where
    /// wgpu cannot be called.
    #[error(
        "wgpu cannot be called while a thread is destroying its thread-local variables: before the \
         thread's function returns, drop all values that use the stream or send them to another \
         thread"
    )]
    ThreadEnding,
    /// The queue does not belong to the device.
    #[error(
        "the queue belongs to another device: pass the device and the queue from the same call to \
         `request_device`"
    )]
    OtherQueue,
    /// The device and the contents of its buffers are lost. All later calls return the same error.
    #[error(
        "the device was lost, along with the contents of its buffers: create a new device, a \
         stream on that device, and new pools"
    )]
    DeviceLost,
    /// The device is out of memory.
    #[error("the device cannot allocate {bytes} bytes: {message}")]
    OutOfMemory {
        /// The number of bytes requested.
        bytes: u64,
        /// The message that wgpu returned.
        message: String,
    },
    /// The requested size exceeds the largest buffer that the device supports.
    #[error(
        "a buffer of {bytes} bytes exceeds the device's limit of {limit} bytes: request a device \
         with a higher `max_buffer_size`, or acquire the memory in parts"
    )]
    BufferTooLarge {
        /// The number of bytes requested.
        bytes: u64,
        /// The device's `max_buffer_size`, in bytes.
        limit: u64,
    },
    /// The view's size exceeds the device's limit for a single binding.
    #[error(
        "a view of {bytes} bytes exceeds the device's limit of {limit} bytes for one binding: bind \
         parts of the view, or request a device with a higher `max_storage_buffer_binding_size`"
    )]
    BindingTooLarge {
        /// The view's size in bytes.
        bytes: u64,
        /// The device's `max_storage_buffer_binding_size`, in bytes.
        limit: u64,
    },
    /// A part of a view starts at an offset that cannot be bound. The device requires binding
    /// offsets to be multiples of a fixed alignment.
    #[error(
        "a view that starts at byte {offset} of its buffer cannot be bound: the offset must be a \
         multiple of {alignment} bytes"
    )]
    Misaligned {
        /// The part's offset within its buffer, in bytes.
        offset: u64,
        /// The alignment, in bytes, that the device requires for the offset.
        alignment: u64,
    },
    /// A writable binding was requested for a part of a view, but the part does not end at a
    /// multiple of 4 bytes. The kernel would also overwrite the first bytes of the next part.
    #[error(
        "a view that ends at byte {end} of its buffer cannot be bound for writing: the end is \
         rounded up to a multiple of 4 bytes, so the kernel could overwrite the beginning of \
         the next view"
    )]
    UnevenEnd {
        /// The part's end offset within its buffer, in bytes.
        end: u64,
    },
    /// An empty view was bound, but WebGPU does not allow empty bindings.
    #[error("an empty view cannot be bound: bind a view with at least one element")]
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
    /// A kernel writes to a binding that was created for reading only.
    #[error(
        "the kernel `{kernel}` writes to binding {binding}, which is read-only: pass a writable \
         binding"
    )]
    ReadOnlyBinding {
        /// The name of the kernel's entry point.
        kernel: String,
        /// The zero-based index of the binding.
        binding: usize,
    },
    /// Two bindings in one dispatch refer to the same buffer and cannot be used together. Either a
    /// kernel reads one binding and writes the other, or it writes both and they overlap.
    #[error(
        "bindings {first} and {second} of the kernel `{kernel}` are in the same buffer, and the \
         kernel writes to it: declare both as `read_write` and bind parts that do not overlap, \
         combine them into one binding, or copy one of them"
    )]
    SharedBuffer {
        /// The name of the kernel's entry point.
        kernel: String,
        /// The zero-based index of the first binding.
        first: usize,
        /// The zero-based index of the second binding.
        second: usize,
    },
    /// A binding refers to another stream's memory. Commands on two different streams are not
    /// ordered relative to each other.
    #[error(
        "memory from another stream cannot be bound on this stream: create both pools on one \
         stream, or copy the memory with `copy_from`"
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
    /// The size of the parameters exceeds the limit for a single dispatch.
    #[error(
        "{bytes} bytes of parameters exceed the limit of {limit} bytes for one dispatch: store the \
         parameters in an array, and bind a view of the array"
    )]
    TooManyParameters {
        /// The number of parameter bytes passed.
        bytes: usize,
        /// The maximum number of parameter bytes.
        limit: usize,
    },
    /// The number of workgroups along one axis exceeds the device's limit.
    #[error(
        "{groups} workgroups along axis {axis} exceed the device's limit of {limit}: process \
         several elements in each invocation, or use another axis"
    )]
    TooManyGroups {
        /// The zero-based index of the axis.
        axis: usize,
        /// The requested number of workgroups.
        groups: u32,
        /// The device's `max_compute_workgroups_per_dimension`.
        limit: u32,
    },
    /// The kernel declares more bindings than the device supports for one kernel.
    #[error(
        "the kernel `{kernel}` declares {declared} bindings, but the device supports at most \
         {limit}"
    )]
    TooManyBindings {
        /// The name of the kernel's entry point.
        kernel: String,
        /// The number of bindings declared by the kernel.
        declared: usize,
        /// The device's `max_storage_buffers_per_shader_stage`.
        limit: usize,
    },
    /// The kernel does not compile, or the bindings in its source differ from the bindings passed
    /// to [`Stream::kernel`](crate::Stream::kernel).
    #[error("the kernel `{kernel}` does not compile: {message}")]
    Compilation {
        /// The name of the kernel's entry point.
        kernel: String,
        /// The message that wgpu returned.
        message: String,
    },
    /// The element type requires a feature that was not enabled when the device was opened.
    #[error(
        "kernels with elements of type {element} require the device feature {feature}, which is \
         not enabled: request it when you open the device"
    )]
    MissingFeature {
        /// The element type's name.
        element: &'static str,
        /// The name of the required wgpu feature.
        feature: &'static str,
    },
    /// wgpu rejected the arguments of a call. The rejected call has no effect, and commands
    /// recorded earlier stay recorded, except after
    /// [`Stream::submit_with`](crate::Stream::submit_with). If `submit_with` returns this error, it
    /// has already submitted the recorded commands and all of your command buffers before the
    /// rejected one.
    #[error("wgpu rejected the call, which had no effect: {message}")]
    Refused {
        /// The message that wgpu returned.
        message: String,
    },
    /// wgpu rejected recorded commands at submission because a resource that they use is mapped or
    /// has been destroyed. The error affects either all commands recorded by one
    /// [`Stream::record`](crate::Stream::record) closure or all commands between two such closures.
    /// All other commands are executed. Each thread that recorded any of the rejected commands
    /// receives this error once. If the message mentions `Buffer::map_async`, the commands were
    /// executed, but a mapping requested with `map_buffer_on_submit` failed.
    #[error(
        "wgpu rejected a group of recorded commands and executed none of them: {message}. Until \
         `submit` has returned, do not map or destroy a resource that the commands use"
    )]
    SubmissionRefused {
        /// The message that wgpu returned.
        message: String,
    },
    /// A block's buffer was destroyed through a handle from
    /// [`Binding::resource`](crate::Binding::resource).
    #[error(
        "the buffer of the block {identity:#x} ({bytes} bytes) was destroyed with \
         `wgpu::Buffer::destroy`: end the scope, and call `trim` on the pool so that it allocates \
         a new buffer"
    )]
    BufferDestroyed {
        /// The index of the block's first byte, which identifies the block.
        /// [`BufferView::address`](crate::BufferView::address) returns this index for a view at the
        /// beginning of the block.
        identity: u64,
        /// The buffer's size in bytes.
        bytes: u64,
    },
    /// The closure passed to [`Stream::record`](crate::Stream::record) replaced its encoder with
    /// another one. The closure's commands are dropped, but all earlier commands stay recorded.
    #[error(
        "the closure passed to `record` replaced its encoder: use the encoder that the closure \
         receives, or pass your own command buffers to `submit_with`"
    )]
    ExchangedEncoder,
    /// The call cannot block until the contents arrive, because the browser's event loop must run
    /// first. Call [`read`](crate::BufferView::read) and await the result.
    #[error("code in a browser cannot block until the contents arrive: await `read()` instead")]
    CannotWait,
    /// The staging buffer that contains the elements could not be mapped.
    #[error("the contents of the buffer could not be read back: {message}")]
    Unreadable {
        /// The message that wgpu returned.
        message: String,
    },
    /// The shape or the length does not match the array.
    #[error(transparent)]
    Shape(#[from] ShapeError),
}

impl WgpuError {
    /// Creates the error for a call rejected by wgpu. The error contains wgpu's message.
    pub(crate) fn refused(error: &impl fmt::Display) -> Self {
        Self::Refused { message: error.to_string() }
    }
}
