//! Reads the segments of a snapshot, which describe the state at the end of the traces.

use std::collections::BTreeMap;

use super::super::error::LogError;
use super::super::event::{Action, Event, Place, Pool};
use super::super::frames::Frames;
use super::super::pickle::{Dict, Field, Pickle, Value};
use super::before::Before;
use super::contents::{MOST_DEVICES, wrong};

/// Adds the data from the segments to the state before the traces.
pub(super) fn add(
    pickle: &Pickle,
    frames: &mut Frames,
    devices: &mut BTreeMap<u32, Before>,
) -> Result<(), LogError> {
    let segments = match pickle.dict(&pickle.root) {
        Some(root) => root.get(Field::Segments),
        None => Some(&pickle.root),
    };
    let Some(segments) = segments else { return Ok(()) };
    let segments =
        pickle.list(segments).ok_or_else(|| wrong("segments", "the value is not a list"))?;
    let mut ranges: BTreeMap<(u32, u64), (u64, usize)> = BTreeMap::new();
    for (index, segment) in segments.iter().enumerate() {
        let place = format!("segments[{index}]");
        let segment = pickle
            .dict(segment)
            .ok_or_else(|| wrong(place.as_str(), "the value is not a dictionary"))?;
        let size = number(segment, Field::TotalSize, &place)?;
        let device = optional(segment, Field::Device, &place)?.unwrap_or(0);
        let device = u32::try_from(device).ok().filter(|&device| device < MOST_DEVICES);
        let device = device.ok_or_else(|| wrong(place.as_str(), "device is out of range"))?;
        let before = devices.entry(device).or_default();
        before.reserved += i128::from(size);
        let stream = segment.number(Field::Stream).bits();
        let stream = stream.map_err(|error| wrong(place.as_str(), format!("stream {error}")))?;
        let mut address = number(segment, Field::Address, &place)?;
        let end = address.saturating_add(size);
        if let Some(other) = overlapped(&ranges, device, (address, end)) {
            let message = format!("the {size} bytes at {address:#x} overlap segments[{other}]");
            return Err(wrong(place, message));
        }
        ranges.insert((device, address), (end, index));
        let pool = pool(pickle, segment, &place)?;
        if pool != Pool::DEFAULT {
            before.pools.insert(address, (end, pool));
        }
        let blocks = segment.get(Field::Blocks).and_then(|blocks| pickle.list(blocks));
        for (index, block) in blocks.unwrap_or_default().iter().enumerate() {
            let place = format!("{place}.blocks[{index}]");
            let block = pickle
                .dict(block)
                .ok_or_else(|| wrong(place.as_str(), "the value is not a dictionary"))?;
            let size = number(block, Field::Size, &place)?;
            if is_active(block, frames) && !before.allocated.contains(&address) {
                let asked = optional(block, Field::RequestedSize, &place)?.unwrap_or(size);
                let stack = block.get(Field::Frames).map(|value| pickle.stack(value, frames));
                let stack = stack.transpose();
                let stack =
                    stack.map_err(|error| wrong(place.as_str(), format!("line {error}")))?;
                let event = Event::new(Action::Allocate, Place::Before, address, asked);
                let stack = stack.unwrap_or_default();
                let event = Event { device, stream, stack, pool, ..event };
                before.buffers.entry(address).or_insert(event);
            }
            address = address.checked_add(size).ok_or_else(|| {
                wrong(place.as_str(), "the end of the block does not fit in 64 bits")
            })?;
        }
    }
    Ok(())
}

/// Returns the number of an earlier segment that contains some of the addresses.
fn overlapped(
    ranges: &BTreeMap<(u32, u64), (u64, usize)>,
    device: u32,
    (start, end): (u64, u64),
) -> Option<usize> {
    let (_, &(last, index)) = ranges.range((device, 0)..(device, end)).next_back()?;
    (last > start).then_some(index)
}

/// Returns the pool of a segment, which is a pair of numbers.
fn pool(pickle: &Pickle, segment: &Dict, place: &str) -> Result<Pool, LogError> {
    let pair = match segment.get(Field::SegmentPoolId) {
        None | Some(Value::Nothing) => return Ok(Pool::DEFAULT),
        Some(value) => pickle.list(value),
    };
    let Some([first, second]) = pair else {
        return Err(wrong(place, "segment_pool_id is not a pair of integers"));
    };
    let number = |value: &Value| {
        let number = value.number().unsigned();
        number.map_err(|error| wrong(place, format!("segment_pool_id {error}")))
    };
    Ok(Pool(number(first)?, number(second)?))
}

/// Returns `true` if the block has an owner, or if other streams may still use it.
fn is_active(block: &Dict, frames: &Frames) -> bool {
    match block.get(Field::State) {
        Some(&Value::Text(state)) => frames.text_of(state).starts_with("active"),
        _ => false,
    }
}

fn number(dict: &Dict, field: Field, place: &str) -> Result<u64, LogError> {
    let number = dict.number(field).unsigned();
    number.map_err(|error| wrong(place, format!("{} {error}", field.name())))
}

fn optional(dict: &Dict, field: Field, place: &str) -> Result<Option<u64>, LogError> {
    if dict.get(field).is_none() {
        return Ok(None);
    }
    number(dict, field, place).map(Some)
}
