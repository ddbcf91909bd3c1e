//! The error type of the crate, which contains the request, the device, the driver's code, and
//! advice.

use std::fmt;

use pool_core::ShapeError;
use pool_core::reserve::NoHostMemory;
use thiserror::Error;

use crate::code::DriverCode;
use crate::reclaim::Reclaim;

/// The reason why a device operation failed.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum CudaError {
    /// No library of the NVIDIA driver can be loaded.
    #[error(
        "the NVIDIA driver (libcuda.so or nvcuda.dll) cannot be loaded: install the driver, or use \
         the host backend"
    )]
    NoLibrary,
    /// The driver supports only an older version of CUDA than required.
    #[error(
        "the NVIDIA driver supports CUDA {}, but CUDA {} is required: update the driver",
        Version(*driver),
        Version(*needed)
    )]
    DriverTooOld {
        /// The driver's version in CUDA's numbering: 12040 is 12.4.
        driver: u32,
        /// The oldest version with the requested feature: 12000, or 12030 for captured graphs.
        needed: u32,
    },
    /// The driver reports a sufficient version, but lacks a call of that version.
    #[error("the NVIDIA driver lacks {call}, which its version should have: reinstall the driver")]
    MissingCall {
        /// The name of the call.
        call: &'static str,
    },
    /// The driver failed to start.
    #[error(
        "the NVIDIA driver failed to start ({code}): check the driver with nvidia-smi, and make \
         sure that the stub library of the CUDA toolkit is not loaded instead"
    )]
    NotStarted {
        /// The code that `cuInit` returned.
        code: DriverCode,
    },
    /// There is a driver, but no device.
    #[error(
        "the NVIDIA driver found no device: check the driver with nvidia-smi, and check the \
         environment variable CUDA_VISIBLE_DEVICES"
    )]
    NoDevice,
    /// There is no device with the requested ordinal.
    #[error(
        "there is no device {asked}: the driver reports {count} devices, numbered from 0 (the \
         environment variable CUDA_VISIBLE_DEVICES can hide others)"
    )]
    NoSuchDevice {
        /// The requested ordinal.
        asked: u32,
        /// The number of devices.
        count: u32,
    },
    /// The device cannot allocate the block.
    #[error("the device cannot allocate {requested} bytes{}{reclaim}", Free(*memory))]
    OutOfMemory {
        /// The number of bytes requested.
        requested: usize,
        /// The memory that the device reports; `None` if the device does not respond.
        memory: Option<MemoryInfo>,
        /// The attempts to free memory before the failure, and the bytes that this process's pools
        /// hold on the device.
        reclaim: Reclaim,
    },
    /// A stream or view of one device was used with memory of another device, and access has not
    /// been enabled (`CudaDevice::let_peer` of `pool-cuda`).
    #[error(
        "memory of device {memory} cannot be used on a stream of device {stream}: use a pool of \
         device {stream}, copy with `copy_from`, or let its kernels use the memory \
         (`CudaDevice::let_peer`)"
    )]
    WrongDevice {
        /// The ordinal of the device that holds the memory.
        memory: u32,
        /// The ordinal of the stream's device.
        stream: u32,
    },
    /// Kernels of one device cannot access memory of another device, so the access cannot be
    /// enabled (`CudaDevice::let_peer` of `pool-cuda`).
    #[error(
        "kernels of device {reader} cannot access memory of device {memory}, because the devices \
         have no peer access to each other: copy the memory with `copy_from`"
    )]
    NotPeers {
        /// The ordinal of the device that holds the memory.
        memory: u32,
        /// The ordinal of the device whose kernels would use the memory.
        reader: u32,
    },
    /// The stream belongs to another CUDA context of the same device, with which events cannot be
    /// shared.
    #[error(
        "the stream belongs to another context of device {ordinal}: use streams of the pool's own \
         context"
    )]
    WrongContext {
        /// The ordinal of the device.
        ordinal: u32,
    },
    /// A stream is being captured into a graph, and the operation cannot become part of a graph.
    #[error(
        "a stream is being captured, so the pool cannot {operation}: run this operation once \
         before the capture"
    )]
    Capturing {
        /// The operation that was refused.
        operation: &'static str,
    },
    /// Memory of the pool was used on a stream that the pool does not know, without an event after
    /// the use, and a session is capturing a graph. Waiting for all work of the context would
    /// invalidate that capture.
    #[error(
        "memory of the pool {}, but cannot wait while a graph is being captured: {}",
        UnknownUse(*stream),
        advice(*stream)
    )]
    UnknownUse {
        /// The handle of the stream; `None` for a stream of another device.
        stream: Option<u64>,
    },
    /// The pool's source (`BlockSource` of `pool-cuda`) has no block of this size.
    #[error("cannot allocate a block of {requested} bytes: {why}")]
    NoBlock {
        /// The number of bytes requested.
        requested: usize,
        /// The reason, with advice.
        why: &'static str,
    },
    /// The host is out of memory for the pool's records of its blocks, streams and shapes.
    #[error(
        "cannot allocate {requested} bytes of host memory for the pool's bookkeeping: free host \
         memory"
    )]
    Bookkeeping {
        /// The number of bytes requested.
        requested: usize,
    },
    /// The two ranges of a copy differ in length.
    #[error(
        "cannot copy {from} elements to a destination of {to} elements: the lengths must be equal"
    )]
    LengthMismatch {
        /// The number of elements of the source.
        from: usize,
        /// The number of elements of the destination.
        to: usize,
    },
    /// A part or a split is not within the view.
    #[error(transparent)]
    Shape(#[from] ShapeError),
    /// The shape has more axes than a descriptor on the device can hold.
    #[error("a shape with {rank} axes cannot be written to the device: the maximum is {most} axes")]
    RankTooLarge {
        /// The number of axes.
        rank: usize,
        /// The maximum number of axes.
        most: usize,
    },
    /// The driver refused a call.
    #[error("{call} failed: {code}{}", CodeAdvice(*code))]
    Call {
        /// The name of the call.
        call: &'static str,
        /// The code that the driver returned.
        code: DriverCode,
    },
}

impl From<NoHostMemory> for CudaError {
    fn from(NoHostMemory { requested }: NoHostMemory) -> Self {
        Self::Bookkeeping { requested }
    }
}

/// The memory of a device, as reported by the driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryInfo {
    /// The number of bytes that any process can still allocate.
    pub free: usize,
    /// The total number of bytes of the device.
    pub total: usize,
}

impl CudaError {
    /// Returns the driver's code, if the driver refused a call.
    #[must_use]
    pub fn code(&self) -> Option<DriverCode> {
        match *self {
            Self::NotStarted { code } | Self::Call { code, .. } => Some(code),
            Self::OutOfMemory { .. } => Some(DriverCode::OUT_OF_MEMORY),
            _ => None,
        }
    }

    /// Returns `true` if the operation failed because of a capture: it may succeed after the
    /// capture has ended.
    #[must_use]
    pub fn is_of_capture(&self) -> bool {
        matches!(self, Self::Capturing { .. } | Self::UnknownUse { .. })
    }

    /// Returns `true` if the device's context is lost; see [`DriverCode::is_sticky`].
    #[must_use]
    pub fn is_sticky(&self) -> bool {
        self.code().is_some_and(DriverCode::is_sticky)
    }
}

/// The action that an unknown use of the pool's memory would require.
struct UnknownUse(Option<u64>);

impl fmt::Display for UnknownUse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(stream) => write!(
                f,
                "was used on the stream {stream:#x}, which was not announced, so the pool must \
                 wait for the whole context"
            ),
            None => {
                f.write_str("was copied to another device, so the pool must wait for all devices")
            }
        }
    }
}

/// Returns the advice for an unknown use.
fn advice(stream: Option<u64>) -> &'static str {
    match stream {
        Some(_) => {
            "announce the stream before it uses the memory (`pool_cuda::announce`; a per-thread \
             default stream cannot be announced)"
        }
        None => "copy between devices with `copy_from`",
    }
}

/// A version in CUDA's numbering, printed in the usual form.
struct Version(u32);

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.0 / 1000, self.0 % 1000 / 10)
    }
}

/// The memory that the device reports, printed after the number of requested bytes.
struct Free(Option<MemoryInfo>);

impl fmt::Display for Free {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(MemoryInfo { free, total }) => {
                write!(f, ": {free} of its {total} bytes are free, shared by all processes")
            }
            None => f.write_str(", and does not report its free memory"),
        }
    }
}

/// The cause of a code and the advice, if they depend only on the code.
struct CodeAdvice(DriverCode);

impl fmt::Display for CodeAdvice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lost = "the device's context is lost; restart the process";
        let advice = self.0.is_sticky().then_some(lost).or_else(|| self.0.capture_advice());
        advice.map_or(Ok(()), |advice| write!(f, ": {advice}"))
    }
}

#[cfg(test)]
mod tests {
    use cudarc::driver::sys::CUresult;

    use super::{CudaError, MemoryInfo, Reclaim};

    #[test]
    fn errors_say_what_to_do() {
        let memory = Some(MemoryInfo { free: 5, total: 9 });
        let out_of_memory =
            CudaError::OutOfMemory { requested: 3, memory, reclaim: Reclaim::new(7) };
        for (error, words) in [
            (CudaError::NoLibrary, &["driver", "install"][..]),
            (CudaError::DriverTooOld { driver: 12_010, needed: 12_030 }, &["12.1", "12.3"]),
            (CudaError::NoDevice, &["nvidia-smi"]),
            (CudaError::NoSuchDevice { asked: 7, count: 2 }, &["device 7", "reports 2 devices"]),
            (out_of_memory, &["3 bytes", "5 of its 9 bytes", "freed 7 bytes"]),
            (CudaError::WrongDevice { memory: 0, stream: 1 }, &["device 0", "let_peer"]),
            (CudaError::UnknownUse { stream: Some(0x5a) }, &["stream 0x5a", "announce"]),
            (CudaError::UnknownUse { stream: None }, &["another device", "copy_from"]),
            (CudaError::NotPeers { memory: 0, reader: 1 }, &["device 1 cannot", "device 0"]),
        ] {
            let text = error.to_string();
            for word in words {
                assert!(text.contains(word), "{text}");
            }
        }
        let lost = CUresult::CUDA_ERROR_ILLEGAL_ADDRESS.into();
        let error = CudaError::Call { call: "cuMemFree", code: lost };
        assert!(error.is_sticky() && error.to_string().contains("700 ILLEGAL_ADDRESS"));
    }
}
