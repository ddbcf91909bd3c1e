//! Defines the driver's return codes, with their numbers and names. This crate stores the names in
//! a table. An error must be printable even if no driver is present to report its code's name.

use std::fmt;

use cudarc::driver::DriverError;
use cudarc::driver::sys::CUresult;

/// A return code from the CUDA driver.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct DriverCode(u32);

impl DriverCode {
    /// The code that the driver returns if the device is out of memory.
    pub const OUT_OF_MEMORY: Self = Self(2);
    pub(crate) const INVALID_VALUE: Self = Self(1);
    pub(crate) const NO_DEVICE: Self = Self(100);
    pub(crate) const NOT_READY: Self = Self(600);
    pub(crate) const CAPTURED_EVENT: Self = Self(907);

    /// Returns the code's number, as listed in CUDA's documentation.
    #[must_use]
    pub const fn number(self) -> u32 {
        self.0
    }

    /// Returns the code's name without the `CUDA_ERROR_` prefix, or `None` if the number is unknown
    /// to this release.
    #[must_use]
    pub fn name(self) -> Option<&'static str> {
        let index = NAMES.binary_search_by_key(&self.0, |(number, _)| *number).ok()?;
        Some(NAMES[index].1)
    }

    /// Returns the code's usual cause and a remedy, or `None` if the code did not result from a
    /// capture.
    #[must_use]
    pub const fn capture_advice(self) -> Option<&'static str> {
        Some(match self.0 {
            900 => {
                "the call is not permitted while a stream is being captured: wait, allocate and \
                 free before or after the capture"
            }
            901 => {
                "an earlier call invalidated the capture; if no earlier call failed, a cudarc \
                 slice was used, allocated or dropped while cudarc's event tracking was enabled: \
                 call `CudaContext::disable_event_tracking` before the capture"
            }
            902 => "the event belongs to another capture: join only streams of the same capture",
            903 => {
                "a capture can end only on the stream where the capture began: let the session end \
                 the capture"
            }
            904 => {
                "a stream of the capture was not joined: make the capture's first stream wait for \
                 that stream"
            }
            905 => {
                "a captured stream tried to wait for work from before the capture, which cudarc's \
                 event tracking does for every slice created before the capture: call \
                 `CudaContext::disable_event_tracking` before the capture"
            }
            906 => {
                "the call uses the legacy default stream, which would wait for a captured stream: \
                 use a stream created with `new_stream`"
            }
            907 => {
                "the event was recorded in a capture, and captured work has not run yet: wait for \
                 an event that is recorded after the replay"
            }
            908 => "another thread began the capture: end the capture on that thread",
            _ => return None,
        })
    }

    /// Returns `true` if the code means that the device's context has been lost. Every later call
    /// in this context returns the same code. A working context can be created only in a new
    /// process.
    #[must_use]
    pub const fn is_sticky(self) -> bool {
        matches!(self.0, 214 | 220 | 700 | 702 | 709 | 710 | 714..=719 | 721)
    }
}

impl From<CUresult> for DriverCode {
    fn from(result: CUresult) -> Self {
        Self(result as u32)
    }
}

impl From<DriverError> for DriverCode {
    fn from(error: DriverError) -> Self {
        error.0.into()
    }
}

/// Formats the number and name of the code, for example `2 OUT_OF_MEMORY`.
impl fmt::Display for DriverCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.0, self.name().unwrap_or("(unknown name)"))
    }
}

impl fmt::Debug for DriverCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DriverCode({self})")
    }
}

/// The number and name of each code, sorted by number.
const NAMES: &[(u32, &str)] = &[
    (0, "SUCCESS"),
    (1, "INVALID_VALUE"),
    (2, "OUT_OF_MEMORY"),
    (3, "NOT_INITIALIZED"),
    (4, "DEINITIALIZED"),
    (5, "PROFILER_DISABLED"),
    (34, "STUB_LIBRARY"),
    (36, "CALL_REQUIRES_NEWER_DRIVER"),
    (46, "DEVICE_UNAVAILABLE"),
    (100, "NO_DEVICE"),
    (101, "INVALID_DEVICE"),
    (102, "DEVICE_NOT_LICENSED"),
    (200, "INVALID_IMAGE"),
    (201, "INVALID_CONTEXT"),
    (205, "MAP_FAILED"),
    (206, "UNMAP_FAILED"),
    (208, "ALREADY_MAPPED"),
    (209, "NO_BINARY_FOR_GPU"),
    (211, "NOT_MAPPED"),
    (214, "ECC_UNCORRECTABLE"),
    (215, "UNSUPPORTED_LIMIT"),
    (216, "CONTEXT_ALREADY_IN_USE"),
    (217, "PEER_ACCESS_UNSUPPORTED"),
    (218, "INVALID_PTX"),
    (219, "INVALID_GRAPHICS_CONTEXT"),
    (220, "NVLINK_UNCORRECTABLE"),
    (221, "JIT_COMPILER_NOT_FOUND"),
    (222, "UNSUPPORTED_PTX_VERSION"),
    (223, "JIT_COMPILATION_DISABLED"),
    (224, "UNSUPPORTED_EXEC_AFFINITY"),
    (225, "UNSUPPORTED_DEVSIDE_SYNC"),
    (226, "CONTAINED"),
    (300, "INVALID_SOURCE"),
    (301, "FILE_NOT_FOUND"),
    (302, "SHARED_OBJECT_SYMBOL_NOT_FOUND"),
    (303, "SHARED_OBJECT_INIT_FAILED"),
    (304, "OPERATING_SYSTEM"),
    (400, "INVALID_HANDLE"),
    (401, "ILLEGAL_STATE"),
    (402, "LOSSY_QUERY"),
    (500, "NOT_FOUND"),
    (600, "NOT_READY"),
    (700, "ILLEGAL_ADDRESS"),
    (701, "LAUNCH_OUT_OF_RESOURCES"),
    (702, "LAUNCH_TIMEOUT"),
    (703, "LAUNCH_INCOMPATIBLE_TEXTURING"),
    (704, "PEER_ACCESS_ALREADY_ENABLED"),
    (705, "PEER_ACCESS_NOT_ENABLED"),
    (708, "PRIMARY_CONTEXT_ACTIVE"),
    (709, "CONTEXT_IS_DESTROYED"),
    (710, "ASSERT"),
    (711, "TOO_MANY_PEERS"),
    (712, "HOST_MEMORY_ALREADY_REGISTERED"),
    (713, "HOST_MEMORY_NOT_REGISTERED"),
    (714, "HARDWARE_STACK_ERROR"),
    (715, "ILLEGAL_INSTRUCTION"),
    (716, "MISALIGNED_ADDRESS"),
    (717, "INVALID_ADDRESS_SPACE"),
    (718, "INVALID_PC"),
    (719, "LAUNCH_FAILED"),
    (720, "COOPERATIVE_LAUNCH_TOO_LARGE"),
    (721, "TENSOR_MEMORY_LEAK"),
    (800, "NOT_PERMITTED"),
    (801, "NOT_SUPPORTED"),
    (802, "SYSTEM_NOT_READY"),
    (803, "SYSTEM_DRIVER_MISMATCH"),
    (804, "COMPAT_NOT_SUPPORTED_ON_DEVICE"),
    (805, "MPS_CONNECTION_FAILED"),
    (806, "MPS_RPC_FAILURE"),
    (807, "MPS_SERVER_NOT_READY"),
    (808, "MPS_MAX_CLIENTS_REACHED"),
    (809, "MPS_MAX_CONNECTIONS_REACHED"),
    (810, "MPS_CLIENT_TERMINATED"),
    (811, "CDP_NOT_SUPPORTED"),
    (812, "CDP_VERSION_MISMATCH"),
    (900, "STREAM_CAPTURE_UNSUPPORTED"),
    (901, "STREAM_CAPTURE_INVALIDATED"),
    (902, "STREAM_CAPTURE_MERGE"),
    (903, "STREAM_CAPTURE_UNMATCHED"),
    (904, "STREAM_CAPTURE_UNJOINED"),
    (905, "STREAM_CAPTURE_ISOLATION"),
    (906, "STREAM_CAPTURE_IMPLICIT"),
    (907, "CAPTURED_EVENT"),
    (908, "STREAM_CAPTURE_WRONG_THREAD"),
    (909, "TIMEOUT"),
    (910, "GRAPH_EXEC_UPDATE_FAILURE"),
    (911, "EXTERNAL_DEVICE"),
    (912, "INVALID_CLUSTER_SIZE"),
    (913, "FUNCTION_NOT_LOADED"),
    (914, "INVALID_RESOURCE_TYPE"),
    (915, "INVALID_RESOURCE_CONFIGURATION"),
    (916, "KEY_ROTATION"),
    (999, "UNKNOWN"),
];

#[cfg(test)]
mod tests {
    use cudarc::driver::DriverError;
    use cudarc::driver::sys::CUresult;

    use super::{DriverCode, NAMES};

    #[test]
    fn a_code_prints_without_a_driver() {
        let code = DriverCode::from(DriverError(CUresult::CUDA_ERROR_STREAM_CAPTURE_ISOLATION));
        assert_eq!(code.to_string(), "905 STREAM_CAPTURE_ISOLATION");
        assert_eq!(format!("{code:?}"), "DriverCode(905 STREAM_CAPTURE_ISOLATION)");
        assert_eq!(DriverCode(77).to_string(), "77 (unknown name)");
    }

    #[test]
    fn the_table_is_sorted_and_agrees_with_the_bindings() {
        assert!(NAMES.windows(2).all(|pair| pair[0].0 < pair[1].0));
        for known in [
            CUresult::CUDA_SUCCESS,
            CUresult::CUDA_ERROR_OUT_OF_MEMORY,
            CUresult::CUDA_ERROR_STUB_LIBRARY,
            CUresult::CUDA_ERROR_NO_DEVICE,
            CUresult::CUDA_ERROR_INVALID_CONTEXT,
            CUresult::CUDA_ERROR_ILLEGAL_ADDRESS,
            CUresult::CUDA_ERROR_CONTEXT_IS_DESTROYED,
            CUresult::CUDA_ERROR_LAUNCH_FAILED,
            CUresult::CUDA_ERROR_SYSTEM_DRIVER_MISMATCH,
            CUresult::CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD,
            CUresult::CUDA_ERROR_UNKNOWN,
        ] {
            // cudarc's `Debug` implementation for the raw code does not call the driver.
            let theirs = format!("{known:?}");
            let theirs = theirs.trim_start_matches("CUDA_").trim_start_matches("ERROR_");
            assert_eq!(DriverCode::from(known).name(), Some(theirs));
        }
    }

    #[test]
    fn only_lost_contexts_are_sticky() {
        assert!(DriverCode::from(CUresult::CUDA_ERROR_ILLEGAL_ADDRESS).is_sticky());
        assert!(!DriverCode::OUT_OF_MEMORY.is_sticky());
        assert!(!DriverCode::NOT_READY.is_sticky());
    }
}
