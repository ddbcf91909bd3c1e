//! Access to the memory of other devices, for contexts and for pools.

use super::foreign::{In, Out};
use super::pages::AccessDescription;
use super::pool::Location;

driver_calls! {
    fn cuDeviceCanAccessPeer(place: Out<i32>, reader: i32, owner: i32) |session| {
        place.put(session.can_access_peer(reader, owner)?.into())
    }

    fn cuCtxEnablePeerAccess(owner: u64, flags: u32) |session| {
        let thread = session.thread;
        session.enable_peer(thread, owner, flags)
    }

    fn cuCtxDisablePeerAccess(owner: u64) |session| {
        let thread = session.thread;
        session.disable_peer(thread, owner)
    }

    fn cuMemPoolSetAccess(pool: u64, wanted: In<AccessDescription>, count: usize) |session| {
        for wanted in wanted.array(count)? {
            session.set_pool_access(pool, wanted.location.device()?, wanted.flags)?;
        }
        Ok(())
    }

    fn cuMemPoolGetAccess(place: Out<u32>, pool: u64, location: In<Location>) |session| {
        let device = location.get()?.device()?;
        place.put(session.pool_access(pool, device)?)
    }
}
