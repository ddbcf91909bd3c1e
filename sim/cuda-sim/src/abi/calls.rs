//! The list of the driver's calls, and `cuGetProcAddress`, which finds a call by name and version.

use super::entry::Entry;
use super::foreign::{In, Out, Text};
use super::{
    context, copy_node, copy_rows, error, event, graph, launch, library, link, memory, module,
    node, pages, peer, pool, stream, transfer, versions,
};
use crate::code::Code;

/// The modelled calls, grouped by file.
const FILES: &[&[Entry]] = &[
    CALLS,
    context::CALLS,
    copy_node::CALLS,
    copy_rows::CALLS,
    error::CALLS,
    event::CALLS,
    graph::CALLS,
    launch::CALLS,
    library::CALLS,
    link::CALLS,
    memory::CALLS,
    module::CALLS,
    node::CALLS,
    pages::CALLS,
    peer::CALLS,
    pool::CALLS,
    stream::CALLS,
    transfer::CALLS,
];

/// Returns `true` if a call is modelled.
pub(super) fn is_modelled(name: &str) -> bool {
    name.starts_with("simcuda_") || calls().any(|call| call.name() == name)
}

/// Returns every call of [`FILES`].
pub(super) fn calls() -> impl Iterator<Item = &'static Entry> {
    FILES.iter().copied().flatten()
}

/// `CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM`.
const PER_THREAD: u64 = 2;

/// `CUdriverProcAddressQueryResult`.
const FOUND: u32 = 0;
const NOT_FOUND: u32 = 1;
const NEWER_VERSION_NEEDED: u32 = 2;

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
            return Err(crate::code::unmodelled(&what));
        }
        let form = versions::form(&symbol, version);
        let found = form.and_then(|form| calls().find(|call| call.name() == form));
        status.put_if_wanted(match found {
            Some(_) => FOUND,
            None if is_newer(&symbol, version, session.driver_version) => NEWER_VERSION_NEEDED,
            None => NOT_FOUND,
        });
        place.put(found.map_or(std::ptr::null(), Entry::address))
    }

    fn cuGetExportTable(place: Out<*const ()>, table: In<[u8; 16]>) |_session| {
        // `table` identifies a table of functions that NVIDIA does not document. A driver that
        // lacks the table returns this code.
        table.get()?;
        place.put(std::ptr::null())?;
        Err(Code::INVALID_VALUE)
    }
}

/// Returns `true` if the driver provides the call, but in a newer version than the caller requests.
fn is_newer(symbol: &str, version: i32, driver_version: i32) -> bool {
    versions::form(symbol, version).is_none() && versions::form(symbol, driver_version).is_some()
}

#[cfg(test)]
mod tests {
    use super::calls;
    use crate::abi::{unmodelled, versions};

    #[test]
    fn every_exported_call_is_in_the_table() {
        for call in calls().chain(unmodelled::CALLS) {
            assert!(versions::knows(call.name()), "{}", call.name());
        }
    }
}
