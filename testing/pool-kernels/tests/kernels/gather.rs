//! Strided arrays of any rank, with strides of any sign, made contiguous.

use pool_kernels::Launch;
use pool_kernels::gather::{GATHER, MODULE, description};
use proptest::collection::vec;
use proptest::prelude::Strategy;

use crate::cases::{Setting, any_launches, for_all, settings};
use crate::element::{Element, for_each_type};
use crate::gpu::Gpu;

#[derive(Clone, Debug)]
struct Case {
    lengths: Vec<usize>,
    strides: Vec<isize>,
    start: usize,
    /// The elements of the strided array.
    elements: usize,
    capacity: usize,
    launch: Launch,
    setting: Setting,
}

/// Returns cases with any strides, including overlapping ones and zeros; the array is as large as
/// they need.
fn cases() -> impl Strategy<Value = Case> {
    let axes = vec((0_usize..8, -9_isize..10), 0..5);
    let beside = (0_usize..4, 0_usize..4, 0_usize..5);
    (axes, beside, any_launches(), settings()).prop_map(|(axes, beside, launch, setting)| {
        let (lengths, strides): (Vec<usize>, Vec<isize>) = axes.into_iter().unzip();
        let reaches = lengths
            .iter()
            .zip(&strides)
            .map(|(length, stride)| length.saturating_sub(1) * stride.unsigned_abs());
        let backwards: usize =
            reaches.clone().zip(&strides).filter(|(_, stride)| **stride < 0).map(|(r, _)| r).sum();
        let (start, behind, less) = (beside.0 + backwards, beside.1, beside.2);
        let elements = beside.0 + reaches.sum::<usize>() + 1 + behind;
        let count: usize = lengths.iter().product();
        // The capacity is enough, a little less, or much more.
        let capacity = if less == 4 { count + 100 } else { count.saturating_sub(less) };
        let launch = launch.unwrap_or(Launch::over_elements(count));
        Case { lengths, strides, start, elements, capacity, launch, setting }
    })
}

impl Case {
    /// Returns the place of the k-th element of the result.
    fn place(&self, element: usize) -> usize {
        let (mut rest, mut place) = (element, i64::try_from(self.start).unwrap());
        for (length, stride) in self.lengths.iter().zip(&self.strides).rev() {
            place += i64::try_from(rest % length).unwrap() * *stride as i64;
            rest /= length;
        }
        usize::try_from(place).unwrap()
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn gather() {
    fn check<E: Element>(gpu: &Gpu) {
        let kernel = gpu.kernel(E::name(GATHER));
        for_all(cases(), |case| {
            // All are different, even in 16 bits: there are fewer than 2048 elements.
            let data: Vec<_> = (0..case.elements).map(|at| E::store(at as f64)).collect();
            let words =
                description(case.elements, case.start, &case.lengths, &case.strides).unwrap();
            let from = gpu.upload(&data, case.setting.before);
            let described = gpu.upload(&words, 1);
            let count = case.lengths.iter().product::<usize>().min(case.capacity);
            let to = gpu.output::<E::Stored>(count, case.setting.before / 2);
            let arguments =
                [from.argument(), to.argument(), described.argument(), case.capacity.into()];
            gpu.launch(&kernel, case.launch, &arguments);

            let actual = gpu.download(&to)?;
            let expected: Vec<_> = (0..count).map(|at| data[case.place(at)]).collect();
            if actual == expected {
                return Ok(());
            }
            Err(format!("{}: {actual:?} instead of {expected:?}", E::NAME))
        });
    }
    Gpu::with(MODULE, |gpu| for_each_type!(check(gpu)));
}

/// A captured launch gathers by the description at the time of the graph's launch.
#[test]
#[ignore = "needs a CUDA device"]
fn a_replay_heeds_the_description_of_its_time() {
    let gpu = Gpu::open(MODULE);
    let kernel = gpu.kernel(GATHER.f32);
    let data: Vec<f32> = (0_u8..24).map(f32::from).collect();
    let words = |start, strides: [isize; 2]| description(24, start, &[4, 6], &strides).unwrap();
    let from = gpu.upload(&data, 3);
    let mut described = gpu.upload(&words(0, [6, 1]), 0);
    let to = gpu.output::<f32>(24, 1);
    let arguments = [from.argument(), to.argument(), described.argument(), 24.into()];
    let launch = || gpu.launch(&kernel, Launch::over_elements(24), &arguments);
    // Drivers load code lazily, which a capture forbids.
    launch();
    let graph = gpu.capture(launch);

    for (start, strides) in [(0, [1, 4]), (23, [-6, -1]), (5, [0, 0]), (0, [6, 1])] {
        gpu.write(&mut described, &words(start, strides));
        graph.launch().unwrap();
        let place = |at: isize| start as isize + at / 6 * strides[0] + at % 6 * strides[1];
        let expected: Vec<f32> =
            (0..24).map(|at| data[usize::try_from(place(at)).unwrap()]).collect();
        assert_eq!(gpu.download(&to).unwrap(), expected);
    }
    gpu.close();
}
