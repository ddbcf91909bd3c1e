//! Return codes of calls, with names that do not come from the driver.

use std::fmt;

use cudarc::driver::sys::CUresult;

/// A return code of the driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Code(CUresult);

/// Why a call failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The driver returned this code.
    Code(Code),
    /// The loaded driver lacks this call.
    Missing(&'static str),
}

/// The result of a call.
pub type Outcome<T> = Result<T, Refusal>;

/// Converts a return code into a result.
pub(super) fn outcome(result: CUresult) -> Outcome<()> {
    match result {
        CUresult::CUDA_SUCCESS => Ok(()),
        refused => Err(Refusal::Code(Code(refused))),
    }
}

impl Code {
    /// Creates the value for a return code.
    #[must_use]
    pub const fn new(result: CUresult) -> Self {
        Self(result)
    }

    /// Returns the code's number in CUDA's documentation.
    #[must_use]
    pub const fn number(self) -> u32 {
        self.0 as u32
    }
}

/// Formats the number and the name, as in `905 STREAM_CAPTURE_ISOLATION`.
impl fmt::Display for Code {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // cudarc's own `Display` calls the driver library, which may be missing.
        let name = format!("{:?}", self.0);
        let short = name.trim_start_matches("CUDA_").trim_start_matches("ERROR_");
        write!(formatter, "{} {short}", self.number())
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(code) => code.fmt(formatter),
            Self::Missing(name) => write!(formatter, "the driver has no {name}"),
        }
    }
}

impl std::error::Error for Refusal {}

#[cfg(test)]
mod tests {
    use cudarc::driver::sys::CUresult;

    use super::{Code, Refusal, outcome};

    #[test]
    fn a_code_prints_without_a_driver() {
        let isolation = Code::new(CUresult::CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
        assert_eq!(isolation.to_string(), "905 STREAM_CAPTURE_ISOLATION");
        assert_eq!(Refusal::Code(isolation).to_string(), isolation.to_string());
        assert_eq!(Code::new(CUresult::CUDA_SUCCESS).to_string(), "0 SUCCESS");
        assert_eq!(Refusal::Missing("cuTurbo").to_string(), "the driver has no cuTurbo");
    }

    #[test]
    fn success_alone_is_no_refusal() {
        assert_eq!(outcome(CUresult::CUDA_SUCCESS), Ok(()));
        let invalid = CUresult::CUDA_ERROR_INVALID_VALUE;
        assert_eq!(outcome(invalid), Err(Refusal::Code(Code::new(invalid))));
    }
}
