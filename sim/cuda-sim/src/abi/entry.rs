//! Calls by name and version: what a driver of one version of CUDA has, and in which form.

use super::foreign::{In, Out, Text};
use super::versions;
use crate::world::Code;

/// A call that the library exports, under the name that it has there.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    name: &'static str,
    address: *const (),
}

/// `CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM`.
const PER_THREAD: u64 = 2;

/// `CUdriverProcAddressQueryResult`.
const FOUND: u32 = 0;
const NOT_FOUND: u32 = 1;
const NEWER_VERSION_NEEDED: u32 = 2;

impl Entry {
    pub(super) const fn new(name: &'static str, address: *const ()) -> Self {
        Self { name, address }
    }

    pub(super) fn name(&self) -> &'static str {
        self.name
    }

    pub(super) fn address(&self) -> *const () {
        self.address
    }
}

driver_calls! {
    fn cuGetProcAddress_v2(
        symbol: Text,
        place: Out<*const ()>,
        version: i32,
        flags: u64,
        status: Out<u32>,
    ) |session| {
        let symbol = symbol.get()?;
        if place.is_null() || flags > PER_THREAD {
            return Err(Code::INVALID_VALUE);
        }
        if version > session.driver_version {
            return Err(Code::NOT_SUPPORTED);
        }
        if flags == PER_THREAD && versions::has_per_thread_form(&symbol) {
            let what = format!("{symbol} with the thread's own default stream");
            return Err(crate::world::unmodelled(&what));
        }
        let form = versions::form(&symbol, version);
        let found = form.and_then(|form| super::calls().find(|call| call.name == form));
        status.put_if_wanted(match found {
            Some(_) => FOUND,
            None if is_newer(&symbol, version, session.driver_version) => NEWER_VERSION_NEEDED,
            None => NOT_FOUND,
        });
        place.put(found.map_or(std::ptr::null(), |call| call.address))
    }

    fn cuGetExportTable(place: Out<*const ()>, table: In<[u8; 16]>) |_session| {
        // Tables of functions that NVIDIA does not document: a driver answers so of one that it has not.
        table.get()?;
        place.put(std::ptr::null())?;
        Err(Code::INVALID_VALUE)
    }
}

/// Whether the driver has a call that the version asked for is too old for.
fn is_newer(symbol: &str, version: i32, driver_version: i32) -> bool {
    versions::form(symbol, version).is_none() && versions::form(symbol, driver_version).is_some()
}
