//! State of copies: both ends, and the rows that are copied.
//!
//! A single-row copy is given by two addresses. A copy of several rows has a corner for each end:
//! the start of its box in pitched memory, in the terms of `CUDA_MEMCPY3D`. The driver API
//! ("cuMemcpy3D") defines that row `y` of plane `z` begins at
//! `base + (z * height + y) * pitch + x`.

use crate::code::{Code, Outcome};

/// A copy of bytes from one end to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Copy {
    pub(crate) to: End,
    pub(crate) from: End,
    /// The length of a row in bytes.
    pub(crate) bytes: usize,
    /// The rows, or `None` for a single row that begins at the addresses of the two ends.
    pub(crate) volume: Option<Box<Volume>>,
}

/// One end of a copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Device(u64),
    Host(u64),
    /// Bytes that were read when the copy was called, row after row.
    Staged(Vec<u8>),
}

/// The rows of a copy, and their layout at each end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Volume {
    pub(crate) height: usize,
    pub(crate) depth: usize,
    pub(crate) to: Corner,
    pub(crate) from: Corner,
}

/// The position at which a box of rows starts in pitched memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Corner {
    pub(crate) x: usize,
    pub(crate) y: usize,
    pub(crate) z: usize,
    /// The distance between two rows in bytes.
    pub(crate) pitch: usize,
    /// The distance between two planes in rows.
    pub(crate) height: usize,
}

/// Rows of bytes that start at an address. Every address and length in it fits its type.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rows {
    start: u64,
    bytes: usize,
    height: usize,
    pitch: usize,
    depth: usize,
    /// The distance between two planes in bytes.
    plane: usize,
}

/// `CU_DEVICE_ATTRIBUTE_MAX_PITCH`.
pub(in crate::world) const MAX_PITCH: usize = 0x7FFF_FFFF;

impl Copy {
    /// Returns a copy of a single row.
    pub(crate) fn row(to: End, from: End, bytes: usize) -> Self {
        Self { to, from, bytes, volume: None }
    }

    /// Returns a copy of a box of rows. The driver API defines valid corners: "If specified,
    /// srcPitch must be greater than or equal to `WidthInBytes` + srcXInBytes", "srcHeight must be
    /// greater than or equal to Height + srcY", and the same for the destination. A pitch or height
    /// of 0 is used as it is, so all rows or planes begin at the same address.
    pub(crate) fn of_rows(to: End, from: End, bytes: usize, volume: Volume) -> Outcome<Self> {
        for (end, corner) in [(&to, volume.to), (&from, volume.from)] {
            corner.check(end, bytes, volume.height, volume.depth).ok_or(Code::INVALID_VALUE)?;
        }
        Ok(Self { to, from, bytes, volume: Some(Box::new(volume)) })
    }

    /// Returns the rows to which the copy writes.
    pub(crate) fn written(&self) -> Rows {
        self.rows(&self.to, self.volume.as_ref().map(|volume| volume.to))
    }

    /// Returns the rows that the copy reads.
    pub(crate) fn read(&self) -> Rows {
        self.rows(&self.from, self.volume.as_ref().map(|volume| volume.from))
    }

    /// Returns the number of bytes copied.
    pub(crate) fn total(&self) -> usize {
        self.volume.as_ref().map_or(self.bytes, |own| self.bytes * own.height * own.depth)
    }

    /// Returns the same copy, with the offsets of its boxes added to the addresses of its ends.
    pub(crate) fn without_offsets(mut self) -> Self {
        let (to, from) = (self.written().start, self.read().start);
        let Some(volume) = &mut self.volume else { return self };
        for (end, start, corner) in
            [(&mut self.to, to, &mut volume.to), (&mut self.from, from, &mut volume.from)]
        {
            *corner = Corner { x: 0, y: 0, z: 0, ..*corner };
            *end = end.at(start);
        }
        self
    }

    fn rows(&self, end: &End, corner: Option<Corner>) -> Rows {
        let Some((volume, corner)) = self.volume.as_ref().zip(corner) else {
            return Rows::one(end.address(), self.bytes);
        };
        Rows {
            start: end.address() + corner.offset().unwrap_or(0),
            bytes: self.bytes,
            height: volume.height,
            pitch: corner.pitch,
            depth: volume.depth,
            plane: corner.pitch * corner.height,
        }
    }
}

impl End {
    /// Returns the address. Staged bytes have no address.
    fn address(&self) -> u64 {
        match self {
            Self::Device(address) | Self::Host(address) => *address,
            Self::Staged(_) => 0,
        }
    }

    fn at(&self, address: u64) -> Self {
        match self {
            Self::Device(_) => Self::Device(address),
            Self::Host(_) => Self::Host(address),
            Self::Staged(bytes) => Self::Staged(bytes.clone()),
        }
    }
}

impl Corner {
    /// Returns the pitch and height of rows that follow each other without gaps.
    pub(crate) fn packed(bytes: usize, height: usize) -> Self {
        Self { pitch: bytes, height, ..Self::default() }
    }

    fn offset(self) -> Option<u64> {
        let rows = self.z.checked_mul(self.height)?.checked_add(self.y)?;
        let offset = rows.checked_mul(self.pitch)?.checked_add(self.x)?;
        u64::try_from(offset).ok()
    }

    /// Checks that a box of this size fits into memory with this pitch and height, and that the end
    /// has an address.
    fn check(self, end: &End, bytes: usize, height: usize, depth: usize) -> Option<()> {
        let row_ends = self.x.checked_add(bytes)?;
        let plane_ends = self.y.checked_add(height)?;
        let good_pitch = self.pitch >= row_ends || self.pitch == 0;
        let good_height = self.height >= plane_ends || self.height == 0;
        if !good_pitch || !good_height || self.pitch > MAX_PITCH {
            return None;
        }
        let planes = self.z.checked_add(depth)?.checked_mul(self.height)?;
        let all = planes.max(plane_ends).checked_mul(self.pitch.max(row_ends))?;
        bytes.checked_mul(height)?.checked_mul(depth)?;
        end.address().checked_add(u64::try_from(all).ok()?)?;
        Some(())
    }
}

impl Rows {
    /// Returns a single row.
    pub(crate) fn one(start: u64, bytes: usize) -> Self {
        Self::in_plane(start, bytes, 1, 0)
    }

    /// Returns the rows of a single plane.
    pub(crate) fn in_plane(start: u64, bytes: usize, height: usize, pitch: usize) -> Self {
        Self { start, bytes, height, pitch, depth: 1, plane: 0 }
    }

    /// Returns the address of the first byte.
    pub(crate) fn start(&self) -> u64 {
        self.start
    }

    /// Returns the number of bytes from the first byte to the last, including gaps.
    pub(crate) fn hull(&self) -> usize {
        if self.bytes == 0 || self.height == 0 || self.depth == 0 {
            return 0;
        }
        (self.depth - 1) * self.plane + (self.height - 1) * self.pitch + self.bytes
    }

    /// Returns the address and length of each row. Rows without gaps between them are returned as
    /// one row.
    pub(crate) fn each(&self) -> impl Iterator<Item = (u64, usize)> {
        let Self { start, bytes, height, pitch, depth, plane } = *self;
        let gapless = pitch == bytes || height == 1;
        let whole = gapless && (plane == bytes * height || depth == 1);
        let (bytes, height) = if gapless { (bytes * height, 1) } else { (bytes, height) };
        let (bytes, depth) = if whole { (bytes * depth, 1) } else { (bytes, depth) };
        let (height, depth) = if self.hull() == 0 { (0, 0) } else { (height, depth) };
        let planes = 0..depth;
        planes.flat_map(move |z| {
            (0..height).map(move |y| (start + (z * plane + y * pitch) as u64, bytes))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Copy, Corner, End, Volume};

    fn copy(bytes: usize, height: usize, depth: usize, to: Corner) -> Option<Copy> {
        let from = Corner::packed(bytes, height);
        let volume = Volume { height, depth, to, from };
        Copy::of_rows(End::Device(1000), End::Device(0), bytes, volume).ok()
    }

    #[test]
    fn rows_begin_where_the_driver_api_says() {
        let to = Corner { x: 2, y: 1, z: 3, pitch: 10, height: 4 };
        let copy = copy(8, 2, 2, to).unwrap();
        let rows: Vec<_> = copy.written().each().collect();
        assert_eq!(rows, [(1132, 8), (1142, 8), (1172, 8), (1182, 8)]);
        assert_eq!((copy.written().hull(), copy.total()), (58, 32));
        assert_eq!(copy.read().each().collect::<Vec<_>>(), [(0, 32)]);
        let folded = copy.without_offsets();
        assert_eq!(folded.to, End::Device(1132));
        assert_eq!(folded.written().each().collect::<Vec<_>>(), rows);
    }

    #[test]
    fn corners_that_are_none_are_refused() {
        let good = Corner { x: 2, y: 1, z: 0, pitch: 10, height: 3 };
        assert!(copy(8, 2, 1, good).is_some());
        for without in [Corner { pitch: 0, ..good }, Corner { height: 0, ..good }] {
            assert!(copy(8, 2, 2, without).is_some(), "{without:?}");
        }
        for bad in [
            Corner { pitch: 9, ..good },
            Corner { height: 2, ..good },
            Corner { pitch: 1 << 31, ..good },
            Corner { z: usize::MAX, ..good },
            Corner { x: usize::MAX, ..good },
            Corner { y: usize::MAX, height: 0, ..good },
        ] {
            assert!(copy(8, 2, 1, bad).is_none(), "{bad:?}");
        }
        let flat = copy(8, 2, 1, Corner { pitch: 0, ..good }).unwrap();
        assert_eq!(flat.written().each().collect::<Vec<_>>(), [(1002, 8); 2]);
        assert!(copy(8, 1, 1, Corner::default()).is_some());
        let empty = copy(8, 0, 1, good).unwrap();
        assert_eq!((empty.written().hull(), empty.written().each().count()), (0, 0));
    }
}
