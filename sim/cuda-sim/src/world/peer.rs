//! Peer access: the devices whose kernels may access another device's memory. Access to plain memory is enabled
//! from one context to another; access to a memory pool is set for a device. Neither enables the other ("Peer access",
//! "Device accessibility for multi-GPU support" in the CUDA Programming Guide).

use super::World;
use super::state::peer::Reach;
use crate::code::{Code, Outcome, unmodelled};

/// `CUmemAccess_flags`.
const NONE: u32 = 0;

const READ_AND_WRITE: u32 = 3;

impl World {
    pub(super) fn reach_of(&self, device: usize) -> Reach {
        let enabled = self.peers.enabled.iter().filter(|(reader, _)| *reader == device);
        let pools = self.pools.iter().enumerate();
        let pools = pools.filter(|(_, pool)| pool.readers.contains(&device));
        Reach {
            device,
            plain: enabled.map(|(_, owner)| *owner).collect(),
            pools: pools.map(|(pool, _)| pool).collect(),
        }
    }

    /// Returns `true` if a device can reach memory of another one.
    pub(crate) fn can_access_peer(&self, reader: i32, owner: i32) -> Outcome<bool> {
        let (reader, owner) = (self.device(reader)?, self.device(owner)?);
        Ok(self.peers.can_be && reader != owner)
    }

    /// Enables access to a context's plain memory from the thread's current context.
    pub(crate) fn enable_peer(&mut self, thread: u64, owner: u64, flags: u32) -> Outcome<()> {
        let (reader, owner) = (self.current(thread)?, self.context(owner)?);
        if flags != 0 {
            return Err(Code::INVALID_VALUE);
        }
        if reader == owner {
            return Err(Code::INVALID_CONTEXT);
        }
        if !self.peers.can_be {
            return Err(Code::PEER_ACCESS_UNSUPPORTED);
        }
        let is_new = self.peers.enabled.insert((reader, owner));
        if is_new { Ok(()) } else { Err(Code::PEER_ACCESS_ALREADY_ENABLED) }
    }

    pub(crate) fn disable_peer(&mut self, thread: u64, owner: u64) -> Outcome<()> {
        let (reader, owner) = (self.current(thread)?, self.context(owner)?);
        let was_there = self.peers.enabled.remove(&(reader, owner));
        if was_there { Ok(()) } else { Err(Code::PEER_ACCESS_NOT_ENABLED) }
    }

    /// Enables or disables a device's access to a pool's memory.
    pub(crate) fn set_pool_access(&mut self, pool: u64, ordinal: i32, access: u32) -> Outcome<()> {
        let (pool, device) = (self.pool(pool)?, self.device(ordinal)?);
        let owner = self.pools[pool].device;
        match access {
            READ_AND_WRITE if device == owner => {}
            READ_AND_WRITE if !self.peers.can_be => return Err(Code::INVALID_DEVICE),
            READ_AND_WRITE => {
                self.pools[pool].readers.insert(device);
            }
            // "The default access of the device on which the pool resides cannot be revoked."
            NONE if device == owner => return Err(Code::INVALID_VALUE),
            NONE => {
                self.pools[pool].readers.remove(&device);
            }
            _ => return Err(unmodelled("memory of a pool that a peer may only read")),
        }
        Ok(())
    }

    pub(crate) fn pool_access(&mut self, pool: u64, ordinal: i32) -> Outcome<u32> {
        let (pool, device) = (self.pool(pool)?, self.device(ordinal)?);
        let own = &self.pools[pool];
        let may = own.device == device || own.readers.contains(&device);
        Ok(if may { READ_AND_WRITE } else { NONE })
    }
}
