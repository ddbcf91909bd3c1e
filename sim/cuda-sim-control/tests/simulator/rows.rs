//! Copies and fills of several rows: which bytes they access, which races they cause, and refusals.
//!
//! Random copies are compared with a model. The model predicts the resulting bytes, and the races
//! from the bytes that each copy accesses.

use std::collections::BTreeSet;
use std::ptr;

use cuda_sim_control::{Mistake, Report, Settings, Simulator};
use cudarc::driver::sys;
use driver_conformance::driver::{
    self, Device, Mode, Outcome, RowBox, Stream, copy_rows_behind, fill_rows_behind,
};
use sys::CUmemorytype_enum as MemoryType;

use crate::support::{filled, join, seeds_with, settings, start, with_seed};

const BYTES: usize = 2048;

/// A generator of pseudorandom numbers.
struct Draw(u64);

impl Draw {
    fn below(&mut self, end: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % end
    }

    /// Returns a box of this size in a span of `BYTES`, or a smaller one if it does not fit.
    fn rows(&mut self, span: driver::Span, [bytes, rows, planes]: [usize; 3]) -> RowBox {
        let [x, y, z] = [self.below(9), self.below(3), self.below(2)];
        let (pitch, height) = (x + bytes + self.below(9), y + rows + self.below(3));
        let rows = RowBox { span, begin: [x, y, z], pitch, height };
        assert!((z + planes) * height * pitch <= BYTES, "{rows:?}");
        rows
    }

    fn size(&mut self) -> [usize; 3] {
        [1 + self.below(12), 1 + self.below(4), 1 + self.below(3)]
    }
}

/// Returns the positions of the bytes in a box, row by row.
fn places(rows: RowBox, [bytes, count, planes]: [usize; 3]) -> Vec<usize> {
    let start = usize::try_from(rows.address() - rows.span.address()).unwrap();
    let mut places = Vec::new();
    for z in 0..planes {
        for y in 0..count {
            let row = start + (z * rows.height + y) * rows.pitch;
            places.extend(row..row + bytes);
        }
    }
    places
}

/// A step of a random program: a copy between two spans, or a fill of one span.
struct StepOfRows {
    to: RowBox,
    from: Option<RowBox>,
    size: [usize; 3],
    value: u8,
}

impl StepOfRows {
    fn draw(draw: &mut Draw, spans: [driver::Span; 2]) -> Self {
        let (into, mut size) = (draw.below(2), draw.size());
        let is_fill = draw.below(3) == 0;
        if is_fill {
            size[2] = 1;
        }
        let to = draw.rows(spans[into], size);
        let from = (!is_fill).then(|| draw.rows(spans[1 - into], size));
        Self { to, from, size, value: u8::try_from(draw.below(256)).unwrap() }
    }

    fn put(&self, stream: &Stream) -> Outcome<()> {
        let [bytes, rows, _] = self.size;
        match self.from {
            Some(from) => copy_rows_behind(stream, self.to, from, self.size),
            None => fill_rows_behind(stream, self.to, self.value, [bytes, rows]),
        }
    }

    /// Returns the accessed positions: the span's address, the offset, and `true` for a write.
    fn touched(&self) -> BTreeSet<(u64, usize, bool)> {
        let ends = [Some((self.to, true)), self.from.map(|from| (from, false))];
        let named = |(rows, writes): (RowBox, bool)| {
            let places = places(rows, self.size).into_iter();
            places.map(move |place| (rows.span.address(), place, writes)).collect::<Vec<_>>()
        };
        ends.into_iter().flatten().flat_map(named).collect()
    }

    fn races_with(&self, other: &Self) -> bool {
        let theirs = other.touched();
        self.touched().iter().any(|&(span, place, writes)| {
            theirs.contains(&(span, place, true))
                || (writes && theirs.contains(&(span, place, false)))
        })
    }

    fn apply(&self, bytes: &mut [Vec<u8>; 2], spans: [driver::Span; 2]) {
        let of = |span: driver::Span| usize::from(span == spans[1]);
        let to = places(self.to, self.size);
        let new: Vec<u8> = match self.from {
            Some(from) => {
                places(from, self.size).iter().map(|&at| bytes[of(from.span)][at]).collect()
            }
            None => vec![self.value; to.len()],
        };
        to.into_iter().zip(new).for_each(|(at, byte)| bytes[of(self.to.span)][at] = byte);
    }
}

/// Returns the number of programs: three times the value of `POOL_SIM_ORDERS`, or 60 if it is not
/// set.
fn rounds() -> u64 {
    3 * std::env::var("POOL_SIM_ORDERS").map_or(20, |number| number.parse().unwrap())
}

/// Returns the random numbers for a program. They differ in each run.
fn draw(seed: u64) -> Draw {
    Draw(settings(seed).seed)
}

/// Each program runs on a stream, and again as a graph. All bytes equal those of the model.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn random_rows_are_the_models() {
    let simulator = start();
    for seed in 0..rounds() {
        with_seed(simulator, seed);
        let mut draw = draw(seed);
        let stream = Stream::non_blocking().unwrap();
        let spans = [filled(BYTES, 1).unwrap(), filled(BYTES, 2).unwrap()];
        let steps: Vec<_> = (0..12).map(|_| StepOfRows::draw(&mut draw, spans)).collect();
        let mut model = [vec![1; BYTES], vec![2; BYTES]];
        for captured in [false, true] {
            if captured {
                stream.begin_capture(Mode::ThreadLocal).unwrap();
            }
            for step in &steps {
                step.put(&stream).unwrap();
                step.apply(&mut model, spans);
            }
            if captured {
                stream.end_capture().unwrap().instantiate().unwrap().launch(&stream).unwrap();
            }
            stream.synchronize().unwrap();
            let bytes = spans.map(|span| driver::download(span).unwrap());
            assert_eq!(bytes, model, "seed {seed}, captured: {captured}");
        }
        simulator.assert_clean();
    }
}

/// Two steps on two streams, or on two branches of a graph, race exactly if the model contains a
/// byte that both access.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn random_rows_race_where_bytes_meet() {
    let simulator = start();
    let (mut races, mut clean) = (0, 0);
    for seed in 0..4 * rounds() {
        with_seed(simulator, seed);
        let mut draw = draw(seed);
        let (one, two) = (Stream::non_blocking().unwrap(), Stream::non_blocking().unwrap());
        let spans = [filled(BYTES, 1).unwrap(), filled(BYTES, 2).unwrap()];
        let steps = [(); 2].map(|()| StepOfRows::draw(&mut draw, spans));
        let captured = seed % 2 == 0;
        if captured {
            one.begin_capture(Mode::ThreadLocal).unwrap();
            join(&two, &one).unwrap();
        }
        steps[0].put(&one).unwrap();
        steps[1].put(&two).unwrap();
        if captured {
            join(&one, &two).unwrap();
            one.end_capture().unwrap().instantiate().unwrap().launch(&one).unwrap();
        }
        one.synchronize().unwrap();
        two.synchronize().unwrap();
        let reports = simulator.reports();
        assert!(reports.iter().all(|report| report.mistake() == Mistake::Race), "{reports:?}");
        let is_race = steps[0].races_with(&steps[1]);
        assert_eq!(!reports.is_empty(), is_race, "seed {seed}: {reports:?}");
        *(if is_race { &mut races } else { &mut clean }) += 1;
    }
    assert!(races > 10 && clean > 10, "{races} races, {clean} clean");
    println!("FIGURE: {races} pairs of steps that race, {clean} that do not");
}

/// Interleaved rows share no byte. The first byte of a gap belongs to the other rows.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn rows_race_with_rows_and_not_with_gaps() {
    let simulator = start();
    let program = |width: usize| {
        seeds_with(simulator, 20, Mistake::Race, |_| {
            let (one, two) = (Stream::non_blocking()?, Stream::non_blocking()?);
            let span = filled(256, 0)?;
            let rows = |x| RowBox { span, begin: [x, 0, 0], pitch: 16, height: 0 };
            fill_rows_behind(&one, rows(0), 1, [width, 4])?;
            fill_rows_behind(&two, rows(8), 2, [8, 4])?;
            one.synchronize()?;
            two.synchronize()
        })
    };
    assert_eq!(program(8), 0);
    assert_eq!(program(9), 20);
}

/// A box is out of bounds if its last row ends past the allocation. If only the gap after that row
/// ends there, the box is valid.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn the_last_row_ends_in_the_allocation() {
    let simulator = start();
    for (height, beyond) in [(4, false), (5, true)] {
        with_seed(simulator, 0);
        let (stream, span) = (Stream::non_blocking().unwrap(), filled(56, 0).unwrap());
        // The test can describe such a box, because the simulator knows where the allocation ends.
        let mut copy = copy_of(MemoryType::CU_MEMORYTYPE_DEVICE, MemoryType::CU_MEMORYTYPE_DEVICE);
        let source = filled(128, 7).unwrap();
        (copy.srcDevice, copy.dstDevice) = (source.address(), span.address());
        (copy.srcPitch, copy.dstPitch, copy.WidthInBytes, copy.Height) = (16, 16, 8, height);
        // SAFETY: the call only accesses the simulator's memory, which refuses an access out of
        // bounds.
        let code = unsafe { sys::cuMemcpy3D_v2(&raw const copy) };
        stream.synchronize().unwrap();
        assert_eq!(code.result().is_err(), beyond);
        let reports = simulator.reports();
        let told = reports.iter().map(Report::mistake).collect::<Vec<_>>();
        assert_eq!(told, if beyond { vec![Mistake::OutOfBounds] } else { Vec::new() });
    }
}

fn copy_of(source: MemoryType, target: MemoryType) -> sys::CUDA_MEMCPY3D {
    sys::CUDA_MEMCPY3D {
        srcXInBytes: 0,
        srcY: 0,
        srcZ: 0,
        srcLOD: 0,
        srcMemoryType: source,
        srcHost: ptr::null(),
        srcDevice: 0,
        srcArray: ptr::null_mut(),
        reserved0: ptr::null_mut(),
        srcPitch: 0,
        srcHeight: 0,
        dstXInBytes: 0,
        dstY: 0,
        dstZ: 0,
        dstLOD: 0,
        dstMemoryType: target,
        dstHost: ptr::null_mut(),
        dstDevice: 0,
        dstArray: ptr::null_mut(),
        reserved1: ptr::null_mut(),
        dstPitch: 0,
        dstHeight: 0,
        WidthInBytes: 0,
        Height: 0,
        Depth: 1,
    }
}

/// Returns 64 bytes of value 7 in host memory that is never freed.
fn host_memory(pinned: bool) -> *mut u8 {
    if !pinned {
        return Box::leak(Box::new([7_u8; 64])).as_mut_ptr();
    }
    let mut place = ptr::null_mut();
    // SAFETY: the output variable outlives the call.
    unsafe { sys::cuMemHostAlloc(&raw mut place, 64, 0) }.result().unwrap();
    // SAFETY: the test owns these 64 bytes.
    unsafe { place.cast::<[u8; 64]>().write([7; 64]) };
    place.cast()
}

/// Copies to and from pageable and page-locked host memory, given by a host address and as unified
/// memory. Bytes between the rows are not accessed. The call waits in the same cases as a copy of a
/// single row.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn rows_of_the_host() {
    let simulator = start();
    for (seed, pinned, unified) in
        [(0, false, false), (1, true, false), (2, true, true), (3, false, true)]
    {
        with_seed(simulator, seed);
        let host = host_memory(pinned);
        let (stream, span) = (Stream::non_blocking().unwrap(), filled(64, 1).unwrap());
        let host_type = if unified {
            MemoryType::CU_MEMORYTYPE_UNIFIED
        } else {
            MemoryType::CU_MEMORYTYPE_HOST
        };
        let mut up = copy_of(host_type, MemoryType::CU_MEMORYTYPE_DEVICE);
        (up.srcHost, up.srcDevice) = (host.cast_const().cast(), host.addr() as u64);
        (up.srcXInBytes, up.srcPitch, up.dstDevice, up.dstPitch) = (2, 16, span.address(), 8);
        (up.WidthInBytes, up.Height) = (4, 3);
        let mut down = copy_of(MemoryType::CU_MEMORYTYPE_DEVICE, host_type);
        (down.dstHost, down.dstDevice) = (host.cast(), up.srcDevice);
        (down.srcDevice, down.srcPitch, down.dstXInBytes, down.dstPitch) =
            (span.address(), 8, 8, 16);
        (down.WidthInBytes, down.Height) = (6, 3);
        // SAFETY: the copy stays within 64 bytes of host memory and 64 bytes of device memory,
        // which are never freed.
        unsafe { sys::cuMemcpy3D_v2(&raw const up) }.result().unwrap();
        // SAFETY: the copy stays within 64 bytes of host memory and 64 bytes of device memory,
        // which are never freed.
        unsafe { sys::cuMemcpy3D_v2(&raw const down) }.result().unwrap();
        stream.synchronize().unwrap();
        let mut expected = [7_u8; 64];
        for row in 0..3 {
            expected[row * 16 + 12..row * 16 + 14].fill(1);
        }
        // SAFETY: the memory has 64 bytes, and no other code uses them any more.
        let bytes = unsafe { host.cast::<[u8; 64]>().read() };
        assert_eq!(bytes, expected, "pinned: {pinned}, unified: {unified}");
        if pinned {
            // SAFETY: the three rows of two elements lie within the 64 bytes.
            let code = unsafe { sys::cuMemsetD2D16_v2(up.srcDevice + 4, 16, 0x0908, 2, 3) };
            code.result().unwrap();
            for row in 0..3 {
                expected[row * 16 + 4..row * 16 + 8].copy_from_slice(&[8, 9, 8, 9]);
            }
            // SAFETY: the memory has 64 bytes, and the fill of host memory has finished.
            assert_eq!(unsafe { host.cast::<[u8; 64]>().read() }, expected);
        }
        simulator.assert_clean();
    }
}

/// Arrays are refused by name, and invalid memory types with their own code.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn arrays_are_refused_by_name() {
    let simulator = start();
    with_seed(simulator, 0);
    let span = filled(64, 1).unwrap();
    let mut copy = copy_of(MemoryType::CU_MEMORYTYPE_ARRAY, MemoryType::CU_MEMORYTYPE_DEVICE);
    (copy.dstDevice, copy.WidthInBytes, copy.Height) = (span.address(), 4, 1);
    // SAFETY: the call is refused before it reads any memory.
    let code = unsafe { sys::cuMemcpy3D_v2(&raw const copy) };
    assert_eq!(code, sys::CUresult::CUDA_ERROR_NOT_SUPPORTED);
    let mut copy = copy_of(MemoryType::CU_MEMORYTYPE_DEVICE, MemoryType::CU_MEMORYTYPE_DEVICE);
    (copy.srcDevice, copy.dstDevice) = (span.address(), span.address() + 32);
    (copy.WidthInBytes, copy.Height, copy.srcLOD) = (4, 1, 1);
    // SAFETY: the call is refused before it reads any memory.
    let code = unsafe { sys::cuMemcpy3D_v2(&raw const copy) };
    assert_eq!(code, sys::CUresult::CUDA_ERROR_INVALID_VALUE);
}

/// The offsets of a captured copy are either read back unchanged or added to the addresses.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn offsets_come_back_either_way() {
    let simulator: Simulator = start();
    for other_answers in [false, true] {
        assert!(simulator.reset(Settings { other_answers, ..settings(0) }));
        Device::open_hardware_or_simulator().unwrap();
        let stream = Stream::non_blocking().unwrap();
        let spans = [filled(BYTES, 1).unwrap(), filled(BYTES, 2).unwrap()];
        let to = RowBox { span: spans[0], begin: [1, 2, 3], pitch: 16, height: 8 };
        let from = RowBox { span: spans[1], begin: [3, 2, 1], ..to };
        stream.begin_capture(Mode::ThreadLocal).unwrap();
        copy_rows_behind(&stream, to, from, [4, 2, 2]).unwrap();
        let graph = stream.end_capture().unwrap();
        let told = graph.nodes().unwrap()[0].copied().unwrap();
        let offsets = [told.dstXInBytes, told.dstY, told.dstZ];
        let expected =
            if other_answers { ([0; 3], to.address()) } else { ([1, 2, 3], spans[0].address()) };
        assert_eq!((offsets, told.dstDevice), expected);
        simulator.assert_clean();
    }
}
