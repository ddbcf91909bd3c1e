//! Loads, stores and atomic operations. Each access is checked for bounds, alignment and races
//! before it reads or writes bytes.

use super::cells::Orders;
use super::engine::Engine;
use super::launch::Fault;
use super::order::Order;
use super::stamp::Stamp;
use super::ticks::Ticks;
use super::warp::{Warp, lanes};
use crate::code::Code;
use crate::ptx::Space;
use crate::ptx::op::{Atomic, Change, Transfer, from_generic};
use crate::report::Mistake;

/// Accesses that happen before the current access.
struct Knowledge<'a> {
    me: Stamp,
    lane: usize,
    /// `true` for memory that is private to each block.
    own: bool,
    ticks: &'a Ticks,
    order: &'a Order,
}

impl Orders for Knowledge<'_> {
    fn knows(&self, old: Stamp) -> bool {
        if old.interval() != self.me.interval() {
            let before = self.own || old.interval() >= self.order.first_interval();
            return before || self.order.knows_of_another_block(old);
        }
        let (old_thread, me) = (old.thread(), self.me.thread());
        let same_warp = old_thread / 32 == me / 32;
        let other = (old_thread % 32) as usize;
        old_thread == me
            || (same_warp && self.ticks.knows(self.lane, other, old.tick()))
            || self.order.knows_of_another_thread(me, old)
    }

    fn first_interval(&self) -> u32 {
        self.order.first_interval()
    }
}

/// The memory that contains the accessed bytes.
#[derive(Clone, Copy, Debug)]
enum Found {
    Global { taken: usize, offset: usize },
    Shared(usize),
    Local(usize),
    Parameter(usize),
}

/// The properties of an access.
#[derive(Clone, Copy, Debug)]
struct Manner {
    writes: bool,
    strong: bool,
    orders: bool,
}

impl Engine<'_> {
    pub(super) fn load(
        &mut self,
        warp: &mut Warp,
        wanted: &Transfer,
        at: usize,
        active: u32,
    ) -> Result<(), Fault> {
        let bytes = wanted.bytes * wanted.registers.len();
        let manner = Manner { writes: false, strong: wanted.strong, orders: wanted.orders };
        for lane in lanes(active) {
            let address = warp.address(wanted.place, lane);
            let found = self.find(warp, (wanted.space, address), bytes, (lane, at))?;
            self.note(warp, found, bytes, manner, (lane, at));
            for (index, register) in wanted.registers.iter().enumerate() {
                let value = self.read(warp, found, index * wanted.bytes, wanted.bytes, lane);
                let value = if wanted.signed { extended(value, wanted.bytes) } else { value };
                warp.set(*register, lane, value);
            }
        }
        Ok(())
    }

    pub(super) fn store(
        &mut self,
        warp: &mut Warp,
        wanted: &Transfer,
        at: usize,
        active: u32,
    ) -> Result<(), Fault> {
        let bytes = wanted.bytes * wanted.registers.len();
        let manner = Manner { writes: true, strong: wanted.strong, orders: wanted.orders };
        for lane in lanes(active) {
            let address = warp.address(wanted.place, lane);
            let found = self.find(warp, (wanted.space, address), bytes, (lane, at))?;
            if matches!(found, Found::Parameter(_)) {
                return Err(self.failed(warp, lane, at, "a store to the kernel's parameters"));
            }
            self.note(warp, found, bytes, manner, (lane, at));
            for (index, register) in wanted.registers.iter().enumerate() {
                let value = warp.value(*register, lane);
                self.write(warp, found, index * wanted.bytes, wanted.bytes, lane, value);
            }
        }
        Ok(())
    }

    pub(super) fn atomic(
        &mut self,
        warp: &mut Warp,
        wanted: &Atomic,
        at: usize,
        active: u32,
    ) -> Result<(), Fault> {
        let mask = u64::MAX >> (64 - 8 * wanted.bytes);
        for lane in lanes(active) {
            let address = warp.address(wanted.place, lane);
            let found = self.find(warp, (wanted.space, address), wanted.bytes, (lane, at))?;
            if !matches!(found, Found::Global { .. } | Found::Shared(_)) {
                let what = "an atomic operation on memory that no other thread sees";
                return Err(self.failed(warp, lane, at, what));
            }
            let old = self.read(warp, found, 0, wanted.bytes, lane);
            let (a, b) = (warp.value(wanted.a, lane), warp.value(wanted.b, lane));
            let new = match wanted.change {
                Change::By(function) => Some(function(old, a)),
                Change::IfEqual => (old == a & mask).then_some(b),
            };
            let manner = Manner { writes: new.is_some(), strong: true, orders: wanted.orders };
            self.note(warp, found, wanted.bytes, manner, (lane, at));
            if let Some(new) = new {
                self.write(warp, found, 0, wanted.bytes, lane, new);
            }
            if let Some(to) = wanted.to {
                let old = if wanted.signed { extended(old, wanted.bytes) } else { old };
                warp.set(to, lane, old);
            }
        }
        Ok(())
    }

    /// Reads memory at a generic address for a driver function that a thread calls.
    pub(super) fn look(
        &mut self,
        warp: &mut Warp,
        address: u64,
        bytes: usize,
        (lane, at): (usize, usize),
    ) -> Result<u64, Fault> {
        let found = self.find(warp, (Space::Generic, address), bytes, (lane, at))?;
        let manner = Manner { writes: false, strong: false, orders: false };
        self.note(warp, found, bytes, manner, (lane, at));
        Ok(self.read(warp, found, 0, bytes, lane))
    }

    fn find(
        &mut self,
        warp: &Warp,
        (space, address): (Space, u64),
        bytes: usize,
        (lane, at): (usize, usize),
    ) -> Result<Found, Fault> {
        let (space, address) = match space {
            Space::Generic => from_generic(address),
            space => (space, address),
        };
        // The sizes of elements and of vectors are powers of two.
        if address & (bytes as u64 - 1) != 0 {
            let what = format!("{bytes} bytes at {address:#x}, which is not aligned to them");
            let kind = (Code::MISALIGNED_ADDRESS, Mistake::KernelFault);
            return Err(self.fault(kind, warp, lane, at, &what));
        }
        let (name, size) = match space {
            Space::Shared => ("shared", self.shared.len()),
            Space::Local => ("local", warp.local.len() / 32),
            Space::Param => ("parameter", self.launch.parameters.len()),
            Space::Global | Space::Const | Space::Generic => {
                return match self.global.locate(address, bytes) {
                    Ok((taken, offset)) => Ok(Found::Global { taken, offset }),
                    Err(wrong) => Err(self.wrong(&wrong, warp, lane, at)),
                };
            }
        };
        let start = usize::try_from(address).unwrap_or(usize::MAX);
        if start.checked_add(bytes).is_none_or(|end| end > size) {
            let what = format!("{bytes} bytes at {start} of {size} bytes of {name} memory");
            let kind = (Code::ILLEGAL_ADDRESS, Mistake::OutOfBounds);
            return Err(self.fault(kind, warp, lane, at, &what));
        }
        Ok(match space {
            Space::Shared => Found::Shared(start),
            Space::Local => Found::Local(start),
            _ => Found::Parameter(start),
        })
    }

    /// Compares an access with earlier accesses and records it.
    fn note(
        &mut self,
        warp: &mut Warp,
        found: Found,
        bytes: usize,
        manner: Manner,
        (lane, at): (usize, usize),
    ) {
        let stamp = self.stamp(warp, lane, manner.strong, at);
        if manner.strong {
            self.hand_on(warp, found, manner, stamp, lane);
        }
        let own = matches!(found, Found::Shared(_));
        let (ticks, order) = (&warp.ticks, &self.order);
        let knowledge = Knowledge { me: stamp, lane, own, ticks, order };
        let writes = manner.writes;
        let (race, space, start, block) = match found {
            Found::Global { taken, offset } => {
                let taken = &mut self.global.taken[taken];
                let race = taken.cells.access(offset, bytes, writes, stamp, &knowledge);
                (race, "global", offset, Some(taken.block))
            }
            Found::Shared(start) => {
                let race = self.shared_cells.access(start, bytes, writes, stamp, &knowledge);
                (race, "shared", start, None)
            }
            Found::Local(_) | Found::Parameter(_) => return,
        };
        if let Some(race) = race {
            let block = block.map_or(String::new(), |block| format!(" of block {block}"));
            let place = format!("bytes {start}..{}{block}", start + bytes);
            self.report_race(race, (stamp, writes), space, &place);
        }
    }

    /// Propagates order through memory: a fence before a strong access releases earlier accesses to
    /// later strong accesses to the same bytes.
    fn hand_on(
        &mut self,
        warp: &mut Warp,
        found: Found,
        manner: Manner,
        stamp: Stamp,
        lane: usize,
    ) {
        let place = match found {
            Found::Global { taken, offset } => (Some(taken), offset),
            Found::Shared(start) => (None, start),
            Found::Local(_) | Found::Parameter(_) => return,
        };
        self.order.acquire(place, stamp);
        if manner.writes && (manner.orders || warp.fenced >> lane & 1 == 1) {
            self.order.release(place, stamp);
            warp.ticks.advance();
        }
    }

    fn read(&self, warp: &mut Warp, found: Found, skip: usize, bytes: usize, lane: usize) -> u64 {
        let (all, start): (&[u8], usize) = match found {
            Found::Global { taken, offset } => (&self.global.taken[taken].bytes, offset),
            Found::Shared(start) => (&self.shared, start),
            Found::Local(start) => (warp.local_of(lane), start),
            Found::Parameter(start) => (&self.launch.parameters, start),
        };
        let start = start + skip;
        // Four-byte accesses are by far the most common.
        if let (4, Some(&[a, b, c, d])) = (bytes, all.get(start..start + 4)) {
            return u32::from_le_bytes([a, b, c, d]).into();
        }
        let mut value = [0; 8];
        value[..bytes].copy_from_slice(&all[start..start + bytes]);
        u64::from_le_bytes(value)
    }

    fn write(
        &mut self,
        warp: &mut Warp,
        found: Found,
        skip: usize,
        bytes: usize,
        lane: usize,
        value: u64,
    ) {
        let (all, start): (&mut [u8], usize) = match found {
            Found::Global { taken, offset } => (&mut self.global.taken[taken].bytes, offset),
            Found::Shared(start) => (&mut self.shared, start),
            Found::Local(start) => (warp.local_of(lane), start),
            Found::Parameter(_) => return,
        };
        let start = start + skip;
        all[start..start + bytes].copy_from_slice(&value.to_le_bytes()[..bytes]);
    }
}

/// Returns the value after sign extension to 64 bits.
fn extended(value: u64, bytes: usize) -> u64 {
    let free = 64 - 8 * bytes;
    let signed = i64::from_ne_bytes((value << free).to_ne_bytes()) >> free;
    u64::from_ne_bytes(signed.to_ne_bytes())
}
