//! Copies and fills of several rows in captured work. Their bytes are verified from the first to
//! the last, for any offsets, pitches and heights.
//!
//! Random bodies with such copies are compared with a model at byte level. A copy that accesses
//! bytes outside its view is refused.

use std::ptr;
use std::sync::Arc;

use cuda_sim_control::Settings;
use cudarc::driver::{CudaStream, sys};
use fastrand::Rng;
use pool_graph::{
    Capture, CaptureError, CaptureSession, CaptureView, GraphMemoryBlock, LayoutViolation,
    NodeKind, UnreadableReason,
};
use sys::CUmemorytype_enum as MemoryType;

use crate::common::{BYTES, Made, arena, pool, stream, without_a_report};
use crate::support::{orders, start, start_anew};

/// A box of rows at an address, in the terms of `CUDA_MEMCPY3D`.
#[derive(Clone, Copy, Debug)]
struct RowBox {
    begin: [usize; 3],
    pitch: usize,
    height: usize,
}

impl RowBox {
    fn offset(&self, [x, y, z]: [usize; 3]) -> usize {
        let [first, row, plane] = self.begin;
        ((plane + z) * self.height + row + y) * self.pitch + first + x
    }

    /// Returns the offset of the first byte, and the length from the first byte to the last.
    fn hull(&self, [bytes, rows, planes]: [usize; 3]) -> (usize, usize) {
        let first = self.offset([0; 3]);
        (first, self.offset([bytes, rows - 1, planes - 1]) - first)
    }

    /// Returns the offsets of all bytes in the box.
    fn places(self, [bytes, rows, planes]: [usize; 3]) -> impl Iterator<Item = usize> {
        (0..planes).flat_map(move |z| {
            (0..rows).flat_map(move |y| (0..bytes).map(move |x| self.offset([x, y, z])))
        })
    }
}

/// Returns the parameters of a copy of a box from one address to another.
fn parameters(
    (to, to_box): (u64, RowBox),
    (from, from_box): (u64, RowBox),
    size: [usize; 3],
) -> sys::CUDA_MEMCPY3D {
    let device = MemoryType::CU_MEMORYTYPE_DEVICE;
    sys::CUDA_MEMCPY3D {
        srcXInBytes: from_box.begin[0],
        srcY: from_box.begin[1],
        srcZ: from_box.begin[2],
        srcLOD: 0,
        srcMemoryType: device,
        srcHost: ptr::null(),
        srcDevice: from,
        srcArray: ptr::null_mut(),
        reserved0: ptr::null_mut(),
        srcPitch: from_box.pitch,
        srcHeight: from_box.height,
        dstXInBytes: to_box.begin[0],
        dstY: to_box.begin[1],
        dstZ: to_box.begin[2],
        dstLOD: 0,
        dstMemoryType: device,
        dstHost: ptr::null_mut(),
        dstDevice: to,
        dstArray: ptr::null_mut(),
        reserved1: ptr::null_mut(),
        dstPitch: to_box.pitch,
        dstHeight: to_box.height,
        WidthInBytes: size[0],
        Height: size[1],
        Depth: size[2],
    }
}

fn put(stream: &Arc<CudaStream>, copy: &sys::CUDA_MEMCPY3D) -> Result<(), CaptureError> {
    // SAFETY: the stream is live; the test is responsible for the copied memory.
    let asked = unsafe { sys::cuMemcpy3DAsync_v2(&raw const *copy, stream.cu_stream()) };
    Ok(asked.result()?)
}

/// Captures work that copies or fills a box within an acquired view of `bytes` bytes, using the
/// view's address.
fn with_view(
    bytes: usize,
    work: impl FnOnce(&Arc<CudaStream>, u64, u64) -> Result<(), CaptureError>,
) -> Result<Vec<u8>, CaptureError> {
    let (main, pool) = (stream(), pool());
    let [input, output] = [(); 2].map(|()| pool.allocate(BYTES).unwrap());
    let lease = pool.lease(&[input.id(), output.id()]).unwrap();
    let session = CaptureSession::new(&main).unwrap().lease(lease);
    let made: Made = session.prepare(arena()).unwrap().capture((), |capture, ()| {
        let (input, mut output) = (capture.block::<u8>(&input)?, capture.block::<u8>(&output)?);
        // One temporary lies before the view, and another one after it.
        let mut before = capture.acquire::<u8>(4096)?;
        let mut view = capture.acquire::<u8>(bytes)?;
        let mut behind = capture.acquire::<u8>(4096)?;
        capture.fill_bytes(capture.main(), &mut before, 1)?;
        capture.fill_bytes(capture.main(), &mut view, 2)?;
        capture.fill_bytes(capture.main(), &mut behind, 3)?;
        let (from, to) = (input.address(), view.address());
        let uses = &[input.read(), view.write()];
        // SAFETY: the work reads the input and writes the view, or must be refused.
        unsafe { capture.enqueue(capture.main(), uses, |stream| work(stream, to, from)) }?;
        let (from, to) = (view.address(), output.address());
        let uses = &[view.read(), output.write()];
        let row = RowBox { begin: [0; 3], pitch: bytes, height: 1 };
        // SAFETY: both views have `bytes` bytes.
        unsafe {
            capture.enqueue(capture.main(), uses, |stream| {
                put(stream, &parameters((to, row), (from, row), [bytes, 1, 1]))
            })
        }
    });
    let mut graph = made?;
    let numbers: Vec<u8> = (0..4096_u32).map(|number| (number % 251) as u8).collect();
    graph.write(&input, &numbers)?;
    graph.replay()?;
    let mut read = vec![0; bytes];
    graph.read(&output, &mut read)?;
    Ok(read)
}

/// The offset in the arena of the view in `with_view`.
const VIEW: u64 = 4096;

/// Runs a test with both allowed behaviours of a driver: a node's offsets are read back unchanged,
/// or added to the node's address.
fn with_both_answers(test: impl Fn()) {
    let simulator = start();
    for other_answers in [false, true] {
        start_anew(simulator, Settings { other_answers, ..Settings::default() }, 0);
        test();
        simulator.assert_clean();
    }
}

fn stray(offset: u64, bytes: usize) -> CaptureError {
    let bytes = bytes as u64;
    CaptureError::Layout(LayoutViolation::StrayAccess { node: 3, offset, bytes })
}

/// Copies a box at every offset within its view, in every representation. If the box is moved by
/// one byte, row or plane beyond either end, it leaves the view.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_copy_of_rows_is_verified_to_the_byte() {
    with_both_answers(|| {
        let size = [16, 3, 3];
        let from_box = RowBox { begin: [1, 2, 1], pitch: 40, height: 6 };
        let box_at = |begin| RowBox { begin, pitch: 32, height: 15 };
        // The box spans 1,040 of the region's 1,280 bytes. The remaining 240 bytes are 7 rows and
        // 16 bytes.
        let (_, bytes) = box_at([0; 3]).hull(size);
        assert_eq!(bytes, 1040);
        let copied = |begin, shift: i64| {
            with_view(1280, |stream, to, from| {
                let to = to.wrapping_add_signed(shift);
                put(stream, &parameters((to, box_at(begin)), (from, from_box), size))
            })
        };
        for (begin, shift) in [
            ([0, 0, 0], 0),
            ([16, 0, 0], 0),
            ([16, 7, 0], 0),
            ([0, 0, 0], 240),
            // The address lies before the view, and the offsets point into the view.
            ([0, 3, 2], -(2 * 15 + 3) * 32),
            ([5, 0, 1], -(15 * 32 + 5)),
        ] {
            let mut expected = vec![2; 1280];
            for (to, from) in box_at(begin).places(size).zip(from_box.places(size)) {
                let place = usize::try_from(to as i64 + shift).unwrap();
                expected[place] = u8::try_from(from % 251).unwrap();
            }
            assert_eq!(copied(begin, shift).unwrap(), expected, "{begin:?} {shift}");
        }
        for (begin, shift) in [
            ([0, 8, 0], 0),
            ([0, 0, 1], 0),
            ([16, 0, 1], 0),
            ([16, 7, 0], 1),
            ([0, 0, 0], -1),
            ([0, 0, 0], 241),
            // The address lies in the view, and the offsets point out of the view.
            ([0, 12, 2], 0),
            ([0, 0, 2], 1200),
        ] {
            let first = VIEW + box_at(begin).hull(size).0 as u64;
            let refused = stray(first.wrapping_add_signed(shift), bytes);
            assert_eq!(copied(begin, shift), Err(refused), "{begin:?} {shift}");
        }
    });
}

/// The same for reads, and for an address before the arena.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn what_rows_are_read_is_verified_too() {
    with_both_answers(|| {
        let (size, bytes) = ([16, 3, 1], 2 * 32 + 16);
        let packed = RowBox { begin: [0; 3], pitch: 16, height: 3 };
        let rows_at = |row| RowBox { begin: [0, row, 0], pitch: 32, height: 0 };
        // Copies the last rows of the view to its first rows.
        let copied = |row, shift: i64| {
            with_view(1280, |stream, view, _| {
                let from = view.wrapping_add_signed(shift);
                put(stream, &parameters((view, packed), (from, rows_at(row)), size))
            })
        };
        assert_eq!(copied(37, 0).unwrap(), [2; 1280]);
        assert_eq!(copied(37 + 300, -300 * 32).unwrap(), [2; 1280]);
        assert_eq!(copied(38, 0), Err(stray(VIEW + 38 * 32, bytes)));
        assert_eq!(copied(299, -300 * 32), Err(stray(VIEW - 32, bytes)));
        // The box begins before the arena and extends into it.
        let reaches =
            |refused| matches!(refused, Err(CaptureError::ForeignMemory { bytes: 80, .. }));
        assert!(reaches(copied(0, -(4096 + 79))) && reaches(copied(0, -(4096 + 1))));
    });
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_fill_of_rows_is_verified_to_the_byte() {
    with_both_answers(|| {
        let filled = |shift: i64, pitch: usize, rows: usize| {
            with_view(1280, |stream, view, _| {
                let (to, stream) = (view.wrapping_add_signed(shift), stream.cu_stream());
                // SAFETY: the stream is live; the test is responsible for the filled memory.
                let asked = unsafe { sys::cuMemsetD2D16Async(to, pitch, 0x0907, 8, rows, stream) };
                Ok(asked.result()?)
            })
        };
        let mut expected = [2; 1280];
        for row in 0..4 {
            for element in expected[112 + row * 384..][..16].chunks_mut(2) {
                element.copy_from_slice(&[7, 9]);
            }
        }
        assert_eq!(filled(112, 384, 4).unwrap(), expected);
        assert_eq!(filled(114, 384, 4), Err(stray(VIEW + 114, 3 * 384 + 16)));
        assert_eq!(filled(112, 386, 4), Err(stray(VIEW + 112, 3 * 386 + 16)));
        assert_eq!(filled(112, 384, 5), Err(stray(VIEW + 112, 4 * 384 + 16)));
        assert_eq!(filled(-2, 384, 1), Err(stray(VIEW - 2, 16)));
    });
}

/// A node whose addresses exceed 64 bits is refused by name, also in a child graph.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_copy_whose_addresses_wrap_is_refused_by_name() {
    without_a_report(|| {
        let rows = RowBox { begin: [0, 9, 0], pitch: 16, height: 0 };
        let made = with_view(1280, |stream, view, from| {
            let to = u64::MAX - 160;
            put(stream, &parameters((view, rows), (from, rows), [16, 3, 1]))?;
            put(stream, &parameters((to, rows), (from, rows), [16, 3, 1]))
        });
        // The simulated driver refuses the copy before it becomes a node. Unit tests cover a driver
        // that does not.
        let Err(CaptureError::Driver(error)) = made else { panic!("{made:?}") };
        assert_eq!(error.code(), Some(sys::CUresult::CUDA_ERROR_INVALID_VALUE.into()));
        let reason = UnreadableReason::Overflow;
        let error = CaptureError::UnreadableNode { kind: NodeKind::Copy, reason };
        let text = "the memory accesses of a node of kind Copy cannot be verified, because the \
                    node's addresses exceed 64 bits";
        assert!(error.to_string().starts_with(text), "{error}");
    });
}

/// A step of a random body.
#[derive(Clone, Copy, Debug)]
enum Step {
    Acquire {
        on: usize,
        bytes: usize,
    },
    /// Drops a view without further use.
    Drop {
        view: usize,
    },
    Fill {
        on: usize,
        view: usize,
        rows: RowBox,
        size: [usize; 2],
        value: u8,
    },
    Copy {
        on: usize,
        to: usize,
        from: usize,
        to_box: RowBox,
        from_box: RowBox,
        size: [usize; 3],
    },
    /// Copies a row of a view to the output.
    Keep {
        on: usize,
        view: usize,
        at: usize,
    },
}

/// The number of bytes of a view that are copied to the output.
const KEPT: usize = 64;

/// Draws bodies in which every step is correct.
struct Draw {
    random: Rng,
    /// The size of each view in bytes; `None` if the view was dropped.
    views: Vec<Option<usize>>,
}

impl Draw {
    fn program(seed: u64) -> Vec<Step> {
        let mut draw = Self { random: Rng::with_seed(seed), views: Vec::new() };
        let mut steps = vec![draw.acquire(), draw.acquire()];
        for _ in 0..24 {
            steps.extend(draw.step());
        }
        let (_, last) = draw.pick();
        steps.push(Step::Keep { on: 0, view: last, at: 0 });
        steps
    }

    fn on(&mut self) -> usize {
        self.random.usize(..2)
    }

    fn acquire(&mut self) -> Step {
        let bytes = 256 * self.random.usize(1..5);
        self.views.push(Some(bytes));
        Step::Acquire { on: self.on(), bytes }
    }

    /// Picks a live view. Returns its size in bytes and its number.
    fn pick(&mut self) -> (usize, usize) {
        let live =
            self.views.iter().enumerate().filter_map(|(view, bytes)| Some(((*bytes)?, view)));
        let live: Vec<_> = live.collect();
        live[self.random.usize(..live.len())]
    }

    /// Draws a box of this size that fits into `all` bytes.
    fn rows(&mut self, [bytes, rows, planes]: [usize; 3], all: usize) -> RowBox {
        loop {
            let random = &mut self.random;
            let begin = [random.usize(..9), random.usize(..4), random.usize(..3)];
            let (pitch, height) =
                (begin[0] + bytes + random.usize(..40), begin[1] + rows + random.usize(..3));
            let found = RowBox { begin, pitch, height };
            let (first, hull) = found.hull([bytes, rows, planes]);
            if first + hull <= all {
                return found;
            }
        }
    }

    fn step(&mut self) -> Option<Step> {
        let on = self.on();
        let random = &mut self.random;
        let size = [random.usize(1..17), random.usize(1..4), random.usize(1..3)];
        let live = self.views.iter().flatten().count();
        Some(match random.u8(..10) {
            0 | 1 if live < 6 => self.acquire(),
            2 | 3 if live > 2 => {
                let (_, view) = self.pick();
                self.views[view] = None;
                Step::Drop { view }
            }
            4 | 5 => {
                let (bytes, view) = self.pick();
                let size = [size[0], size[1], 1];
                let rows = RowBox { height: 0, ..self.rows(size, bytes) };
                let rows = RowBox { begin: [rows.begin[0], rows.begin[1], 0], ..rows };
                let value = self.random.u8(..);
                Step::Fill { on, view, rows, size: [size[0], size[1]], value }
            }
            6..=8 => {
                let ((to_bytes, to), (from_bytes, from)) = (self.pick(), self.pick());
                if to == from {
                    return None;
                }
                let (to_box, from_box) = (self.rows(size, to_bytes), self.rows(size, from_bytes));
                Step::Copy { on, to, from, to_box, from_box, size }
            }
            _ => {
                let (_, view) = self.pick();
                let at = KEPT * self.random.usize(..4096 / KEPT);
                Step::Keep { on, view, at }
            }
        })
    }
}

/// Returns the output after the steps, according to the model.
fn model(steps: &[Step]) -> Vec<u8> {
    let (mut views, mut output) = (Vec::<Vec<u8>>::new(), vec![0; 4096]);
    for step in steps {
        match *step {
            Step::Acquire { bytes, .. } => views.push(vec![number_of(views.len()); bytes]),
            Step::Drop { .. } => {}
            Step::Fill { view, rows, size: [bytes, count], value, .. } => {
                rows.places([bytes, count, 1]).for_each(|place| views[view][place] = value);
            }
            Step::Copy { to, from, to_box, from_box, size, .. } => {
                let read: Vec<u8> = from_box.places(size).map(|place| views[from][place]).collect();
                to_box.places(size).zip(read).for_each(|(place, byte)| views[to][place] = byte);
            }
            Step::Keep { view, at, .. } => {
                output[at..at + KEPT].copy_from_slice(&views[view][..KEPT]);
            }
        }
    }
    output
}

/// Returns the byte value with which a view is first filled.
fn number_of(view: usize) -> u8 {
    u8::try_from(view + 1).unwrap()
}

/// A copy that leaves its view, given by its index in the body and the number of bytes.
#[derive(Clone, Copy, Debug)]
struct Lie {
    copy: usize,
    shift: i64,
    /// `true` for the source of the copy, and `false` for its destination.
    reads: bool,
}

fn body(
    capture: &Capture<'_>,
    steps: &[Step],
    output: &GraphMemoryBlock,
    lie: Option<Lie>,
) -> Result<(), CaptureError> {
    let streams = [capture.main(), capture.branch(0)?];
    let mut output = capture.block::<u8>(output)?;
    let mut views: Vec<Option<CaptureView<'_, u8>>> = Vec::new();
    let mut copies = 0;
    for step in steps {
        match *step {
            Step::Acquire { on, bytes } => {
                let mut view = capture.acquire::<u8>((streams[on], bytes))?;
                capture.fill_bytes(streams[on], &mut view, number_of(views.len()))?;
                views.push(Some(view));
            }
            Step::Drop { view } => drop(views[view].take()),
            Step::Fill { on, view, rows, size: [bytes, count], value } => {
                let Some(view) = &mut views[view] else { continue };
                let to = view.address() + rows.offset([0; 3]) as u64;
                let fill = |stream: &Arc<CudaStream>| {
                    let stream = stream.cu_stream();
                    // SAFETY: the stream is live, and the rows lie in the view.
                    unsafe { sys::cuMemsetD2D8Async(to, rows.pitch, value, bytes, count, stream) }
                        .result()
                        .map_err(CaptureError::from)
                };
                // SAFETY: the rows lie in the view.
                unsafe { capture.enqueue(streams[on], &[view.write()], fill) }?;
            }
            Step::Copy { on, to, from, to_box, from_box, size } => {
                let Ok([Some(to), Some(from)]) = views.get_disjoint_mut([to, from]) else {
                    continue;
                };
                let lie = lie.filter(|lie| lie.copy == copies);
                let shift =
                    |reads: bool| lie.filter(|lie| lie.reads == reads).map_or(0, |lie| lie.shift);
                copies += 1;
                let address = to.address().wrapping_add_signed(shift(false));
                let source = from.address().wrapping_add_signed(shift(true));
                let copy = parameters((address, to_box), (source, from_box), size);
                // SAFETY: both boxes lie in the views, or the copy must be refused.
                unsafe {
                    capture.enqueue(streams[on], &[from.read(), to.write()], |stream| {
                        put(stream, &copy)
                    })
                }?;
            }
            Step::Keep { on, view, at } => {
                let Some(view) = &views[view] else { continue };
                let row = RowBox { begin: [0; 3], pitch: KEPT, height: 1 };
                let (to, from) = (output.address() + at as u64, view.address());
                let uses = &[view.read(), output.write()];
                // SAFETY: the copy uses 64 bytes of both.
                unsafe {
                    capture.enqueue(streams[on], uses, |stream| {
                        put(stream, &parameters((to, row), (from, row), [KEPT, 1, 1]))
                    })
                }?;
            }
        }
    }
    Ok(())
}

/// Returns a faulty copy for a body: one box overlaps an end of its view's region, with at least
/// one byte on either side.
fn lie(steps: &[Step], random: &mut Rng) -> Option<Lie> {
    let (mut sizes, mut ends) = (Vec::new(), Vec::new());
    for step in steps {
        match *step {
            Step::Acquire { bytes, .. } => sizes.push(bytes),
            Step::Copy { to, from, to_box, from_box, size, .. } => {
                ends.extend([(to, to_box.hull(size)), (from, from_box.hull(size))]);
            }
            _ => {}
        }
    }
    ends.iter().position(|&(_, (_, hull))| hull > 1)?;
    loop {
        let end = random.usize(..ends.len());
        let (view, (first, hull)) = ends[end];
        if hull > 1 {
            let over = random.usize(1..hull);
            let signed = |number: usize| i64::try_from(number).unwrap();
            let shift = if random.bool() {
                signed(sizes[view] + over) - signed(first + hull)
            } else {
                -signed(first + over)
            };
            return Some(Lie { copy: end / 2, shift, reads: end % 2 == 1 });
        }
    }
}

/// Every correct body becomes a graph, with or without a plan, which runs without a race and
/// produces the model's bytes. No body with a faulty copy becomes a graph.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn random_bodies_of_rows_are_the_models() {
    let simulator = start();
    let (mut sharing, mut lies) = (0, 0);
    let bodies = 2 * orders();
    for number in 0..bodies {
        let run = Settings::default();
        let other_answers = run.other_answers || number % 3 == 0;
        start_anew(simulator, Settings { other_answers, ..run }, number);
        let number = run.seed.wrapping_mul(1_000_003).wrapping_add(number);
        let (main, branch, pool) = (stream(), stream(), pool());
        let output = pool.allocate(BYTES).unwrap();
        let steps = Draw::program(number);
        let session = || {
            let session = CaptureSession::new(&main).unwrap().branch(&branch).unwrap();
            session.lease(pool.lease(&[output.id()]).unwrap())
        };
        let right = |capture: &Capture<'_>, (): &mut ()| body(capture, &steps, &output, None);
        let prepared = if number % 2 == 0 {
            session().prepare(arena()).unwrap()
        } else {
            let options = pool_plan::Options { rounds: Some(10), ..pool_plan::Options::default() };
            let session = session();
            let probe = session.probe_with::<_, CaptureError>(&options, &mut (), right).unwrap();
            session.planned(&probe).unwrap()
        };
        let made: Made = prepared.capture((), right);
        let mut graph = made.unwrap_or_else(|error| panic!("body {number}: {error:?}\n{steps:#?}"));
        sharing += graph.verified().sharing;
        graph.write(&output, &[0_u8; 4096]).unwrap();
        for _ in 0..2 {
            graph.replay().unwrap();
        }
        let mut bytes = vec![0; 4096];
        graph.read(&output, &mut bytes).unwrap();
        assert_eq!(bytes, model(&steps), "body {number}");
        graph.update(right).unwrap();
        drop(graph);
        simulator.assert_clean();
        let mut random = Rng::with_seed(!number);
        let Some(lie) = lie(&steps, &mut random) else { continue };
        let wrong = |capture: &Capture<'_>, (): &mut ()| body(capture, &steps, &output, Some(lie));
        let made: Made = prepared.capture((), wrong);
        let is_stray = matches!(
            made,
            Err(CaptureError::Layout(LayoutViolation::StrayAccess { .. })
                | CaptureError::ForeignMemory { .. })
        );
        assert!(is_stray, "body {number}, {lie:?}: {made:?}\n{steps:#?}");
        lies += 1;
    }
    println!(
        "FIGURE: {} right bodies, {sharing} pairs that share bytes, {lies} lies refused",
        bodies
    );
    assert!(sharing > 0 && lies > 0);
}
