//! Defines this crate's error type. Each error states the request, the device, and the driver's
//! error code, and gives advice.

use std::fmt;

use pool_core::ShapeError;
use pool_core::reserve::NoHostMemory;
use thiserror::Error;

use crate::code::DriverCode;
use crate::reclaim::Reclaim;

/// An error that explains why a device operation failed.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum CudaError {
    /// The NVIDIA driver's library cannot be loaded.
    #[error(
        "the NVIDIA driver (libcuda.so or nvcuda.dll) cannot be loaded: install the driver, or use \
         the host backend"
    )]
    NoLibrary,
    /// The driver supports only CUDA versions older than the required version.
    #[error(
        "the NVIDIA driver supports CUDA up to version {}, but version {} is required: update the \
         driver",
        Version(*driver),
        Version(*needed)
    )]
    DriverTooOld {
        /// The newest version of CUDA that the driver supports. CUDA encodes a version as a number.
        /// For example, 12040 means CUDA 12.4.
        driver: u32,
        /// The oldest version of CUDA that provides the requested feature. The required version is
        /// 12000 (CUDA 12.0), or 12030 (CUDA 12.3) for captured graphs.
        needed: u32,
    },
    /// The driver reports a sufficient version but lacks a function that this version should
    /// provide.
    #[error(
        "the NVIDIA driver does not provide the function {call}, which this driver version should \
         contain: reinstall the driver"
    )]
    MissingCall {
        /// The name of the missing function.
        call: &'static str,
    },
    /// The driver failed to start.
    #[error(
        "the NVIDIA driver could not be initialized ({code}): run nvidia-smi to check the driver, \
         and make sure that the program does not load the stub library from the CUDA toolkit"
    )]
    NotStarted {
        /// The code that `cuInit` returned.
        code: DriverCode,
    },
    /// The driver is present, but reports no device.
    #[error(
        "the NVIDIA driver found no device: run nvidia-smi to check the driver, and check the \
         environment variable CUDA_VISIBLE_DEVICES"
    )]
    NoDevice,
    /// No device has the requested ordinal.
    #[error(
        "there is no device {asked}: the driver reports {count} devices, numbered from 0 (the \
         environment variable CUDA_VISIBLE_DEVICES may hide other devices)"
    )]
    NoSuchDevice {
        /// The ordinal that was requested.
        asked: u32,
        /// The number of devices reported by the driver.
        count: u32,
    },
    /// The device does not have enough memory for a block.
    #[error("the device cannot allocate {requested} bytes{}{reclaim}", Free(*memory))]
    OutOfMemory {
        /// The number of bytes requested.
        requested: usize,
        /// The device's free and total memory, or `None` if the driver did not report it.
        memory: Option<MemoryInfo>,
        /// The attempts to free memory before the allocation failed, and the number of bytes that
        /// this process's pools hold on the device.
        reclaim: Reclaim,
    },
    /// A stream or view of one device was used with another device's memory. Access to this memory
    /// has not been enabled with `CudaDevice::grant_peer_access` from `pool-cuda`.
    #[error(
        "memory on device {memory} cannot be used on a stream of device {stream}: use a pool on \
         device {stream}, copy the memory with `copy_from`, or enable peer access with \
         `CudaDevice::grant_peer_access`"
    )]
    WrongDevice {
        /// The ordinal of the device that holds the memory.
        memory: u32,
        /// The ordinal of the stream's device.
        stream: u32,
    },
    /// The access cannot be enabled with `CudaDevice::grant_peer_access` from `pool-cuda`, because
    /// kernels on one device cannot access the other device's memory.
    #[error(
        "kernels on device {reader} cannot access memory on device {memory}, because the two \
         devices do not support peer access: copy the memory with `copy_from`"
    )]
    NotPeers {
        /// The ordinal of the device that holds the memory.
        memory: u32,
        /// The ordinal of the device whose kernels would use the memory.
        reader: u32,
    },
    /// The stream belongs to another CUDA context of the same device. Two contexts cannot share
    /// events.
    #[error(
        "the stream belongs to a different CUDA context on device {ordinal}: use a stream from the \
         pool's own context"
    )]
    WrongContext {
        /// The ordinal of the device to which both contexts belong.
        ordinal: u32,
    },
    /// The operation cannot become part of a graph, but its stream is being captured.
    #[error(
        "the pool cannot {operation} while a stream is being captured: run this operation once \
         before the capture"
    )]
    Capturing {
        /// The operation that was refused.
        operation: &'static str,
    },
    /// A stream unknown to the pool used the pool's memory while a session was capturing a graph.
    /// No event was recorded after this use. The pool would have to wait for all work in the
    /// context, but this wait would invalidate the capture.
    #[error(
        "the pool cannot wait while a graph is being captured: {}. To avoid this error, {}",
        UnknownUse(*stream),
        advice(*stream)
    )]
    UnknownUse {
        /// The stream's handle, or `None` if the stream belongs to another device.
        stream: Option<u64>,
    },
    /// The pool's source cannot provide a block of this size. Sources are types that implement
    /// `BlockSource` from `pool-cuda`.
    #[error("cannot allocate a block of {requested} bytes: {why}")]
    NoBlock {
        /// The number of bytes requested.
        requested: usize,
        /// An explanation of why no block is available, with advice.
        why: &'static str,
    },
    /// The host is out of memory, so the pool cannot record its blocks, streams, or shapes.
    #[error(
        "cannot allocate {requested} bytes of host memory for the pool's bookkeeping: free some \
         host memory first"
    )]
    Bookkeeping {
        /// The number of bytes requested.
        requested: usize,
    },
    /// The source and the target of a copy have different lengths.
    #[error(
        "cannot copy {from} elements to a destination of {to} elements: the lengths must be equal"
    )]
    LengthMismatch {
        /// The number of elements in the source.
        from: usize,
        /// The number of elements in the target.
        to: usize,
    },
    /// A range or a split position is outside the view.
    #[error(transparent)]
    Shape(#[from] ShapeError),
    /// The shape has more axes than device code supports.
    #[error("the shape has {rank} axes, but device code supports at most {most} axes")]
    RankTooLarge {
        /// The number of axes in the shape.
        rank: usize,
        /// The maximum number of axes.
        most: usize,
    },
    /// A driver call failed.
    #[error("{call} failed: {code}{}", CodeAdvice(*code))]
    Call {
        /// The name of the driver function.
        call: &'static str,
        /// The code returned by the driver.
        code: DriverCode,
    },
}

impl From<NoHostMemory> for CudaError {
    fn from(NoHostMemory { requested }: NoHostMemory) -> Self {
        Self::Bookkeeping { requested }
    }
}

/// A device's free and total memory, as reported by the driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryInfo {
    /// The number of free bytes on the device.
    pub free: usize,
    /// The size of the device's memory in bytes.
    pub total: usize,
}

impl CudaError {
    /// Returns the driver's code if the error comes from a driver call, or `None` for all other
    /// errors.
    #[must_use]
    pub fn code(&self) -> Option<DriverCode> {
        match *self {
            Self::NotStarted { code } | Self::Call { code, .. } => Some(code),
            Self::OutOfMemory { .. } => Some(DriverCode::OUT_OF_MEMORY),
            _ => None,
        }
    }

    /// Returns `true` if the operation failed because of a capture. The operation might succeed
    /// once the capture has ended.
    #[must_use]
    pub fn is_of_capture(&self) -> bool {
        matches!(self, Self::Capturing { .. } | Self::UnknownUse { .. })
    }

    /// Returns `true` if the device's context has been lost (see [`DriverCode::is_sticky`]).
    #[must_use]
    pub fn is_sticky(&self) -> bool {
        self.code().is_some_and(DriverCode::is_sticky)
    }
}

/// Describes how the unknown stream used the memory and which wait would be necessary.
struct UnknownUse(Option<u64>);

impl fmt::Display for UnknownUse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(stream) => write!(
                f,
                "the pool's memory was used on stream {stream:#x}, which was not registered. The \
                 pool must wait for the whole context"
            ),
            None => f.write_str(
                "the pool's memory was copied to another device. The pool must wait for all \
                 devices",
            ),
        }
    }
}

/// Returns advice on how to avoid using memory on an unknown stream.
fn advice(stream: Option<u64>) -> &'static str {
    match stream {
        Some(_) => {
            "register the stream before it uses the memory (`pool_cuda::register_stream`; a \
             per-thread default stream cannot be registered)"
        }
        None => "copy between devices with `copy_from`",
    }
}

/// A version in CUDA's encoding, printed in its usual form, such as `12.4`.
struct Version(u32);

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.0 / 1000, self.0 % 1000 / 10)
    }
}

/// The device's memory sizes, which an error prints after the number of bytes requested.
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

/// An error code's cause and remedy. An error prints the cause and the remedy if they depend only
/// on the code.
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
            (CudaError::WrongDevice { memory: 0, stream: 1 }, &["device 0", "grant_peer_access"]),
            (CudaError::UnknownUse { stream: Some(0x5a) }, &["stream 0x5a", "register"]),
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
