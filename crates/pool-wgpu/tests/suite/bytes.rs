//! Fills, uploads, copies and readings of any number of bytes from any byte on, against a plain vector.

use pool_core::{LendView, Pool, PoolView, PoolViewMut};
use pool_wgpu::{BufferViewMut, Stream, Wgpu, wgpu};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::support::{own_stream, stream};

/// Bytes of each of the two views.
const BYTES: usize = 140;

/// Something done to parts of two views.
#[derive(Clone, Debug)]
enum Operation {
    Zero(Range),
    Fill(Range, u8),
    Upload(Range, u8),
    /// From the first view's part to the second's, of the same length.
    Across(Range, usize),
    /// From one part of the first view to a later one, or the other way.
    Within(usize, usize, usize, bool),
    /// Part of the first view is read.
    Read(Range),
    /// A kernel of the user's runs, so that a compute pass is open.
    OpenPass,
    Submit,
}

#[derive(Clone, Copy, Debug)]
struct Range {
    start: usize,
    length: usize,
}

fn range() -> impl Strategy<Value = Range> {
    (0..=70_usize, 0..=70_usize).prop_map(|(start, length)| Range { start, length })
}

fn operation() -> impl Strategy<Value = Operation> {
    prop_oneof![
        range().prop_map(Operation::Zero),
        (range(), any::<u8>()).prop_map(|(range, value)| Operation::Fill(range, value)),
        (range(), any::<u8>()).prop_map(|(range, seed)| Operation::Upload(range, seed)),
        (range(), 0..=70_usize).prop_map(|(range, to)| Operation::Across(range, to)),
        (0..30_usize, 0..30_usize, 0..40_usize, any::<bool>())
            .prop_map(|(start, gap, length, back)| Operation::Within(start, gap, length, back)),
        range().prop_map(Operation::Read),
        Just(Operation::OpenPass),
        Just(Operation::Submit),
    ]
}

/// Bytes that differ from their neighbours.
fn bytes(seed: u8, count: usize) -> Vec<u8> {
    (0..count).map(|at| at.to_le_bytes()[0].wrapping_mul(37).wrapping_add(seed)).collect()
}

fn part<'a>(view: &'a mut BufferViewMut<'_, u8>, range: Range) -> BufferViewMut<'a, u8> {
    view.part_mut(range.start..range.start + range.length).unwrap()
}

/// Applies an operation to the views and to the model, and compares the contents.
fn run(
    operation: &Operation,
    views: &mut [BufferViewMut<'_, u8>; 2],
    model: &mut [Vec<u8>; 2],
    open_pass: &dyn Fn(),
) {
    let [first, second] = views;
    match *operation {
        Operation::Zero(range) => {
            part(first, range).fill_with_zeros().unwrap();
            model[0][range.start..range.start + range.length].fill(0);
        }
        Operation::Fill(range, value) => {
            part(first, range).fill_with_value(value).unwrap();
            model[0][range.start..range.start + range.length].fill(value);
        }
        Operation::Upload(range, seed) => {
            let bytes = bytes(seed, range.length);
            part(first, range).copy_from_host(&bytes).unwrap();
            model[0][range.start..range.start + range.length].copy_from_slice(&bytes);
        }
        Operation::Across(range, to) => {
            let source = first.part(range.start..range.start + range.length).unwrap();
            part(second, Range { start: to, length: range.length }).copy_from(source).unwrap();
            let source = model[0][range.start..range.start + range.length].to_vec();
            model[1][to..to + range.length].copy_from_slice(&source);
            std::mem::swap(first, second);
            model.swap(0, 1);
        }
        Operation::Within(start, gap, length, is_back) => {
            let middle = start + length + gap;
            let (mut before, mut after) = first.reborrow().into_split_at(middle).unwrap();
            let mut low = before.part_mut(start..start + length).unwrap();
            let mut high = after.part_mut(..length).unwrap();
            if is_back {
                low.copy_from(high.as_view()).unwrap();
                model[0].copy_within(middle..middle + length, start);
            } else {
                high.copy_from(low.as_view()).unwrap();
                model[0].copy_within(start..start + length, middle);
            }
        }
        Operation::Read(range) => {
            let found = first.part(range.start..range.start + range.length).unwrap();
            let expected = &model[0][range.start..range.start + range.length];
            assert_eq!(found.copy_to_vec().unwrap(), expected);
        }
        Operation::OpenPass => open_pass(),
        Operation::Submit => first.stream().submit().unwrap(),
    }
}

/// Runs operations on views of a fresh pool, and compares everything in the end.
fn run_all(stream: &Stream, operations: &[Operation]) {
    let nothing = stream
        .kernel(
            "@group(0) @binding(0) var<storage, read_write> to: array<u32>;
             @compute @workgroup_size(1) fn main() { to[0] = 7u; }",
            "main",
            &[pool_wgpu::Access::ReadWrite],
        )
        .unwrap();
    let mut pool = Pool::<Wgpu>::new(stream.clone());
    let scope = pool.scope();
    let mut model = [bytes(1, BYTES), bytes(2, BYTES)];
    let mut views = [scope.acquire_from(&model[0]), scope.acquire_from(&model[1])];
    let other = std::cell::RefCell::new(scope.acquire_zeroed::<u32, _>(1));
    let open_pass = || {
        let mut other = other.borrow_mut();
        stream.dispatch(&nothing, &[other.binding_mut().unwrap()], &[], [1; 3]).unwrap();
    };
    for operation in operations {
        run(operation, &mut views, &mut model, &open_pass);
    }
    for (view, expected) in views.iter().zip(&model) {
        assert_eq!(&view.copy_to_vec().unwrap(), expected);
    }
}

#[test]
fn bytes_agree_with_a_plain_vector() {
    let Some((stream, _quiet)) = stream() else { return };
    let cases = pool_conformance::programs::test_cases().div_ceil(20);
    pool_conformance::programs::runner(cases)
        .run(&vec(operation(), 1..40), |operations| {
            run_all(&stream, &operations);
            Ok(())
        })
        .unwrap_or_else(|error| panic!("{error}"));
}

/// Fills of elements of this many bytes, from an odd byte on, with and without an open pass.
fn fill_elements<const N: usize>(stream: &Stream)
where
    [u8; N]: pool_core::PodElement,
{
    let mut pool = Pool::<Wgpu>::new(stream.clone());
    let scope = pool.scope();
    let element: [u8; N] = std::array::from_fn(|at| at.to_le_bytes()[0].wrapping_add(1));
    for start in 0..5 {
        let mut view = scope.acquire_filled(start + 12, [9_u8; N]);
        let (_, mut rest) = view.reborrow().into_split_at(start).unwrap();
        rest.part_mut(..10).unwrap().fill_with_value(element).unwrap();
        let found = view.copy_to_vec().unwrap();
        assert!(found[..start].iter().all(|found| *found == [9; N]));
        assert!(found[start..start + 10].iter().all(|found| *found == element), "{N} bytes");
        assert!(found[start + 10..].iter().all(|found| *found == [9; N]));
    }
}

#[test]
fn elements_of_any_size_are_filled() {
    let Some((stream, _quiet)) = stream() else { return };
    fill_elements::<1>(&stream);
    fill_elements::<2>(&stream);
    fill_elements::<3>(&stream);
    fill_elements::<5>(&stream);
    fill_elements::<8>(&stream);
    fill_elements::<12>(&stream);
    fill_elements::<31>(&stream);
    fill_elements::<128>(&stream);
    fill_elements::<256>(&stream);
    fill_elements::<1024>(&stream);
}

#[test]
fn buffers_that_are_larger_than_a_binding_are_done_in_parts() {
    let limits = wgpu::Limits { max_storage_buffer_binding_size: 4_096, ..Default::default() };
    let Some((stream, _quiet)) = own_stream(limits) else { return };
    let mut pool = Pool::<Wgpu>::new(stream.clone());
    let scope = pool.scope();
    let count = 20_000;
    let mut model = bytes(5, count);
    let mut view = scope.acquire_from(&model);
    let mut other = scope.acquire_zeroed::<u8, _>(count);
    view.part_mut(1_001..15_002).unwrap().fill_with_value(7).unwrap();
    model[1_001..15_002].fill(7);
    let (mut low, mut high) = view.reborrow().into_split_at(9_999).unwrap();
    low.part_mut(3..8_003).unwrap().copy_from(high.part(1_000..9_000).unwrap()).unwrap();
    model.copy_within(10_999..18_999, 3);
    high.part_mut(..9_000).unwrap().copy_from(low.part(7..9_007).unwrap()).unwrap();
    model.copy_within(7..9_007, 9_999);
    other.part_mut(5..19_000).unwrap().copy_from(view.part(1..18_996).unwrap()).unwrap();
    assert!(view.copy_to_vec().unwrap() == model);
    let found = other.copy_to_vec().unwrap();
    assert!(found[5..19_000] == model[1..18_996]);
    assert!(found[..5].iter().chain(&found[19_000..]).all(|byte| *byte == 0));
}

#[test]
fn views_of_other_streams_and_devices_are_copied_in_order() {
    let Some((stream, _quiet)) = stream() else { return };
    let same_device = Stream::new(stream.device().clone(), stream.queue().clone()).unwrap();
    let Some((other_device, _)) = own_stream(wgpu::Limits::default()) else { return };
    let mut pool = Pool::<Wgpu>::new(stream);
    for other in [same_device, other_device] {
        let mut other_pool = Pool::<Wgpu>::new(other);
        for round in 0..3_u8 {
            let scope = other_pool.scope();
            let mut source = scope.acquire_filled(101, round);
            let scope = pool.scope();
            let mut view = scope.acquire::<u8, _>(101);
            view.copy_from(source.as_view()).unwrap();
            source.fill_with_value(99).unwrap();
            source.stream().submit().unwrap();
            assert_eq!(view.copy_to_vec().unwrap(), [round; 101]);
        }
    }
}
