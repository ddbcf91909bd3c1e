//! Copies and fills of several rows: which bytes they access, refusals, and queries of captured
//! nodes.

use driver_conformance::driver::{self, Kind, Mode, Node, Outcome, RowBox, Span, Stream};
use driver_conformance::{ask, codes};

/// The size of the boxes below: bytes in a row, rows, and planes.
const SIZE: [usize; 3] = [5, 2, 3];

/// Returns a box of `SIZE` in a span of numbered bytes, and one in a span of zeros. Neither box is
/// at the beginning of its span.
fn boxes() -> Outcome<(RowBox, RowBox)> {
    let (from, to) = (driver::allocate(256)?, driver::allocate(512)?);
    driver::upload(from, &(0..=255).collect::<Vec<u8>>())?;
    driver::fill(to, 0)?;
    Stream::legacy().synchronize()?;
    let from = RowBox { span: from, begin: [3, 1, 1], pitch: 8, height: 5 };
    Ok((RowBox { span: to, begin: [2, 3, 1], pitch: 16, height: 7 }, from))
}

/// Computes the bytes after copying a box, using the documented addresses.
fn copied(to: RowBox, from: RowBox, [bytes, rows, planes]: [usize; 3]) -> Vec<u8> {
    let mut expected = vec![0; to.span.bytes()];
    let place = |at: RowBox, x: usize, y: usize, z: usize| {
        let [first, row, plane] = at.begin;
        ((z + plane) * at.height + y + row) * at.pitch + x + first
    };
    for z in 0..planes {
        for y in 0..rows {
            for x in 0..bytes {
                let byte = u8::try_from(place(from, x, y, z)).unwrap_or(0);
                expected[place(to, x, y, z)] = byte;
            }
        }
    }
    expected
}

#[test]
#[ignore = "needs a CUDA device"]
fn the_bytes_of_a_box() {
    ask("a copy of rows and planes", |_, answers| {
        let (stream, (to, from)) = (Stream::non_blocking()?, boxes()?);
        driver::copy_rows_behind(&stream, to, from, SIZE)?;
        stream.synchronize()?;
        let whole = driver::download(to.span)? == copied(to, from, SIZE);
        answers.documented("cuMemcpy3DAsync: its bytes, and no others", whole, true);
        let (to, from) = boxes()?;
        let flat = |rows: RowBox| RowBox { begin: [rows.begin[0], rows.begin[1], 0], ..rows };
        let (to, from) = (flat(to), flat(from));
        driver::copy_plane_behind(&stream, to, from, [SIZE[0], SIZE[1]])?;
        stream.synchronize()?;
        let whole = driver::download(to.span)? == copied(to, from, [SIZE[0], SIZE[1], 1]);
        answers.documented("cuMemcpy2DAsync: its bytes, and no others", whole, true);
        Ok(())
    });
}

/// Describes the box that was copied to `to`, given a box for each pitch or height.
fn rows_read(to: RowBox, from: impl Fn(usize) -> RowBox) -> Outcome<String> {
    let seen = driver::download(to.span)?;
    let distance = (0..=16).find(|distance| copied(to, from(*distance), SIZE) == seen);
    Ok(distance.map_or("others".to_owned(), |distance| format!("are {distance} apart")))
}

#[test]
#[ignore = "needs a CUDA device"]
fn boxes_that_are_none() {
    ask("a copy of rows with a pitch or height that is too small", |_, answers| {
        let (stream, (to, from)) = (Stream::non_blocking()?, boxes()?);
        let copy = |to, from| driver::copy_rows_behind(&stream, to, from, SIZE);
        let invalid = codes::INVALID_VALUE;
        let narrow = RowBox { pitch: 7, ..from };
        answers.documented("a pitch below width and offset", copy(to, narrow), invalid);
        let low = RowBox { height: 2, ..from };
        answers.documented("a height below rows and offset", copy(to, low), invalid);
        let none = driver::copy_rows_behind(&stream, to, from, [SIZE[0], 0, 1]);
        answers.noted("no rows", none);
        stream.synchronize()?;
        let untouched = driver::download(to.span)?.iter().all(|byte| *byte == 0);
        answers.documented("nothing was copied", untouched, true);
        // The graph verifier refuses nodes that copy such boxes, so it does not rely on the layout.
        let no_pitch = RowBox { pitch: 0, ..from };
        answers.seen("no pitch", copy(to, no_pitch), codes::SUCCESS);
        stream.synchronize()?;
        answers.noted("no pitch: the rows read", rows_read(to, |pitch| RowBox { pitch, ..from })?);
        let no_height = RowBox { height: 0, ..from };
        answers.seen("no height", copy(to, no_height), codes::SUCCESS);
        stream.synchronize()?;
        let read = rows_read(to, |height| RowBox { height, ..from })?;
        answers.noted("no height: the planes read", read);
        Ok(())
    });
}

/// In both cases, the graph verifier computes the first and the last byte from the node's
/// parameters.
#[test]
#[ignore = "needs a CUDA device"]
fn what_a_captured_box_tells() {
    ask("reading a captured copy of rows back", |_, answers| {
        let (stream, (to, from)) = (Stream::non_blocking()?, boxes()?);
        stream.begin_capture(Mode::ThreadLocal)?;
        driver::copy_rows_behind(&stream, to, from, SIZE)?;
        let graph = stream.end_capture()?;
        let nodes = graph.nodes()?;
        let [node] = nodes[..] else { return Ok(()) };
        let told = node.copied()?;
        let size = [told.WidthInBytes, told.Height, told.Depth] == SIZE;
        answers.documented("its size is as it was given", size, true);
        let first = |base: u64, [x, y, z]: [usize; 3], pitch: usize, height: usize| {
            base + ((z * height + y) * pitch + x) as u64
        };
        let read = [told.srcXInBytes, told.srcY, told.srcZ];
        let written = [told.dstXInBytes, told.dstY, told.dstZ];
        let bytes = [
            first(told.srcDevice, read, told.srcPitch, told.srcHeight),
            first(told.dstDevice, written, told.dstPitch, told.dstHeight),
        ];
        let right = bytes == [from.address(), to.address()];
        answers.seen("its first bytes are those that were given", right, true);
        let strides = [told.srcPitch, told.srcHeight, told.dstPitch, told.dstHeight];
        let right = strides == [from.pitch, from.height, to.pitch, to.height];
        answers.seen("so are pitches and heights", right, true);
        answers.noted("so are offsets", (read, written) == (from.begin, to.begin));
        let exec = graph.instantiate()?;
        exec.launch(&stream)?;
        stream.synchronize()?;
        let whole = driver::download(to.span)? == copied(to, from, SIZE);
        answers.documented("a launch copies its bytes, and no others", whole, true);

        // Updates with the same graph, and with a graph that has another destination.
        answers.documented("an update by itself", exec.update(&graph).0, codes::SUCCESS);
        let moved = RowBox { begin: [3, 3, 1], ..to };
        stream.begin_capture(Mode::ThreadLocal)?;
        driver::copy_rows_behind(&stream, moved, from, SIZE)?;
        let other = stream.end_capture()?;
        answers.noted("an update to other rows", exec.update(&other).0);
        Ok(())
    });
}

#[test]
#[ignore = "needs a CUDA device"]
fn filled_rows() {
    ask("a fill of rows", |_, answers| {
        let (stream, span) = (Stream::non_blocking()?, driver::allocate(256)?);
        driver::fill(span, 0)?;
        Stream::legacy().synchronize()?;
        let rows = RowBox { span, begin: [2, 1, 0], pitch: 32, height: 0 };
        stream.begin_capture(Mode::ThreadLocal)?;
        driver::fill_rows_behind(&stream, rows, 9, [7, 3])?;
        let graph = stream.end_capture()?;
        let nodes = graph.nodes()?;
        let kinds = nodes.iter().map(Node::kind).collect::<Outcome<Vec<Kind>>>()?;
        answers.documented("captured, it is", kinds, vec![Kind::Fill]);
        let [node] = nodes[..] else { return Ok(()) };
        answers.seen("its pitch and rows", node.filled_rows()? == (32, 3), true);
        answers.documented("its address", node.filled_span()?.0 == rows.address(), true);
        graph.instantiate()?.launch(&stream)?;
        stream.synchronize()?;
        let mut expected = [0; 256];
        for row in 1..4 {
            expected[row * 32 + 2..row * 32 + 9].fill(9);
        }
        let whole = driver::download(span)? == expected;
        answers.documented("its bytes, and no others", whole, true);
        let narrow = RowBox { span: Span::made_up(256), pitch: 6, ..rows };
        let refused = driver::fill_rows_behind(&stream, narrow, 9, [7, 3]);
        answers.seen("a pitch below the width", refused, codes::INVALID_VALUE);
        Ok(())
    });
}
