//! Names and descriptions of return codes.

use std::ffi::c_char;
use std::ptr;

use super::foreign::Out;
use crate::code::Code;

driver_calls! {
    fn cuGetErrorName(code: u32, place: Out<*const c_char>) |_session| {
        let name = Code(code).words().map(|(name, _)| name);
        place.put(name.map_or(ptr::null(), std::ffi::CStr::as_ptr))?;
        name.map(drop).ok_or(Code::INVALID_VALUE)
    }

    fn cuGetErrorString(code: u32, place: Out<*const c_char>) |_session| {
        let text = Code(code).words().map(|(_, text)| text);
        place.put(text.map_or(ptr::null(), std::ffi::CStr::as_ptr))?;
        text.map(drop).ok_or(Code::INVALID_VALUE)
    }
}
