//! Random programs on two devices: pools, other streams, copies between pools and devices,
//! forgotten guards and scopes. After each program there are no reports and no leaks, and every
//! view has the right contents.

use std::mem;
use std::sync::Arc;

use cuda_sim_control::{Settings, Simulator};
use cudarc::driver::{CudaStream, DevicePtrMut};
use fastrand::Rng;
use pool_core::{Pool, PoolBackend, PoolView, PoolViewMut, Scope, Stacked, error_chain};
use pool_cuda::{
    Cuda, CudaDevice, DevicePool, DeviceStream, DeviceViewMut, record_use, register_stream,
};

use crate::shrink;
use crate::support::{start, start_anew};

/// The number of elements in the longest view.
const N: usize = 4096;
/// The number of pools: two on the first device, and one on the second.
const POOLS: usize = 3;

/// The backends on which programs run.
trait Layout: DevicePool + for<'s> PoolBackend<View<'s, u8> = DeviceViewMut<'s, u8>> {}

impl Layout for Cuda {}

impl Layout for Stacked<Cuda> {}

/// The parameters that are constant during a program.
#[derive(Clone, Copy, Debug)]
struct Setup {
    /// `true` if the driver's memory pools are disabled.
    plain: bool,
    /// `true` if the second pool uses its device's default stream.
    on_default: bool,
}

impl Setup {
    fn of(number: u64) -> Self {
        let mut random = Rng::with_seed(shrink::seed(number));
        Self { plain: random.bool(), on_default: random.bool() }
    }
}

/// A step. Its numbers are indices modulo the current number of objects, so a program remains valid
/// if steps are left out.
#[derive(Clone, Copy, Debug)]
enum Step {
    Acquire {
        pool: usize,
        length: usize,
        value: u8,
    },
    Release {
        view: usize,
    },
    Split {
        view: usize,
        at: usize,
    },
    Fill {
        view: usize,
        value: u8,
    },
    Copy {
        to: usize,
        from: usize,
    },
    Read {
        view: usize,
    },
    /// A fill by cudarc, on any of the streams.
    Zero {
        view: usize,
        stream: usize,
    },
    Upload {
        view: usize,
        stream: usize,
        value: u8,
    },
    Download {
        view: usize,
        stream: usize,
    },
    /// Takes a pointer and forgets its guard.
    Forget {
        view: usize,
        stream: usize,
    },
    Record {
        view: usize,
        stream: usize,
    },
    Register {
        stream: usize,
    },
    /// Drops a stream and creates another one in its place.
    Replace {
        stream: usize,
    },
    /// Ends all scopes, and either trims their pools or forgets the scopes.
    Close {
        trim: bool,
        forget: bool,
    },
}

impl Step {
    fn all_of(number: u64) -> Vec<Self> {
        let mut random = Rng::with_seed(!shrink::seed(number));
        (0..random.usize(5..80)).map(|_| Self::random(&mut random)).collect()
    }

    fn random(random: &mut Rng) -> Self {
        let mut number = || random.usize(..64);
        let (view, stream, other) = (number(), number(), number());
        let value = random.u8(..);
        match random.u8(..40) {
            0..10 => {
                Self::Acquire { pool: other, length: [0, N / 2, N, N + 1000][stream % 4], value }
            }
            10..12 => Self::Release { view },
            12..14 => Self::Split { view, at: other },
            14..17 => Self::Fill { view, value },
            17..22 => Self::Copy { to: view, from: other },
            22..24 => Self::Read { view },
            24..27 => Self::Zero { view, stream },
            27..29 => Self::Upload { view, stream, value },
            29..31 => Self::Download { view, stream },
            31..33 => Self::Forget { view, stream },
            33..35 => Self::Record { view, stream },
            35 => Self::Register { stream },
            36..38 => Self::Replace { stream },
            _ => Self::Close { trim: value.is_multiple_of(2), forget: value % 4 == 1 },
        }
    }
}

/// The objects that exist while scopes are open.
struct Open<'s, B: Layout> {
    scopes: Vec<Scope<'s, B>>,
    views: Vec<View<'s>>,
}

struct View<'s> {
    elements: DeviceViewMut<'s, u8>,
    /// The value of every element; `None` after a failed write.
    value: Option<u8>,
}

/// The objects that exist during the whole program.
struct World {
    devices: [CudaDevice; 2],
    streams: Vec<Arc<CudaStream>>,
}

/// The reason why a step failed.
#[derive(Debug)]
enum Fault {
    /// A call of the pool failed.
    Refused(String),
    /// Elements differ from the values that were written.
    Wrong(String),
}

impl Fault {
    fn text(self) -> String {
        let (Self::Refused(text) | Self::Wrong(text)) = self;
        text
    }
}

type Checked = Result<(), Fault>;

impl World {
    fn new<B: Layout>(setup: Setup) -> (Self, Vec<Pool<B>>) {
        let devices = [0, 1].map(|ordinal| Cuda::device(ordinal).unwrap());
        let of = |ordinal: usize| match setup.plain {
            true => devices[ordinal].clone().without_memory_pool(),
            false => devices[ordinal].clone(),
        };
        let second = match setup.on_default {
            true => DeviceStream::new(&of(0), devices[0].context().default_stream()),
            false => of(0).new_stream(),
        };
        let own = [of(0).new_stream(), second, of(1).new_stream()].map(Result::unwrap);
        let mut streams: Vec<_> = own.iter().map(|own| Arc::clone(own.stream())).collect();
        streams.push(devices[0].context().default_stream());
        streams.push(devices[0].context().per_thread_stream());
        streams.push(devices[1].context().default_stream());
        for device in [0, 0, 1] {
            streams.push(devices[device].context().new_stream().unwrap());
        }
        (Self { devices, streams }, own.into_iter().map(Pool::new).collect())
    }

    fn stream(&self, number: usize) -> &Arc<CudaStream> {
        &self.streams[number % self.streams.len()]
    }

    /// Replaces one of the last three streams, which belong to no pool.
    fn replace(&mut self, number: usize) {
        let place = self.streams.len() - 1 - number % 3;
        let device = if place + 1 == self.streams.len() { 1 } else { 0 };
        // During a sweep, the driver may refuse to create a stream.
        if let Ok(stream) = self.devices[device].context().new_stream() {
            self.streams[place] = stream;
        }
    }
}

impl<'s, B: Layout> Open<'s, B> {
    fn new(pools: &'s mut [Pool<B>]) -> Self {
        Self { scopes: pools.iter_mut().map(Pool::scope).collect(), views: Vec::new() }
    }

    fn close(self, forget: bool) {
        let Self { scopes, views } = self;
        if forget {
            mem::forget((views, scopes));
        }
    }

    fn view(&mut self, number: usize) -> Option<&mut View<'s>> {
        let count = self.views.len().max(1);
        self.views.get_mut(number % count)
    }

    /// Executes a step. A refused step changes nothing. This function does not check the kind of
    /// error.
    fn take(&mut self, step: Step, world: &mut World) -> Checked {
        match step {
            Step::Acquire { pool, length, value } => {
                let acquired = self.scopes[pool % POOLS].try_acquire_filled(length, value);
                let refused = |error| Fault::Refused(format!("{step:?}: {}", error_chain(&error)));
                let elements = acquired.map_err(refused)?;
                self.views.push(View { elements, value: Some(value) });
            }
            Step::Release { view } if !self.views.is_empty() => {
                self.views.swap_remove(view % self.views.len());
            }
            Step::Split { view, at } if !self.views.is_empty() => {
                let View { elements, value } = self.views.swap_remove(view % self.views.len());
                let at = at * elements.len() / 64;
                let (before, after) = elements.into_split_at(at).unwrap();
                self.views.extend([before, after].map(|elements| View { elements, value }));
            }
            Step::Copy { to, from } => self.copy(to, from)?,
            Step::Register { stream } => register_stream(world.stream(stream)),
            Step::Replace { stream } => world.replace(stream),
            step => {
                let Some(view) = self.view(step.view()) else { return Ok(()) };
                return view.take(step, world);
            }
        }
        Ok(())
    }

    fn copy(&mut self, to: usize, from: usize) -> Checked {
        let count = self.views.len().max(1);
        let Ok([to, from]) = self.views.get_disjoint_mut([to % count, from % count]) else {
            return Ok(());
        };
        if to.elements.len() == from.elements.len() {
            to.value = None;
            let copied = to.elements.copy_from(from.elements.as_view());
            copied.map_err(|error| Fault::Refused(format!("copy: {error}")))?;
            to.value = from.value;
        }
        Ok(())
    }
}

impl View<'_> {
    fn take(&mut self, step: Step, world: &World) -> Checked {
        let Self { elements, value } = self;
        match step {
            Step::Fill { value: new, .. } => {
                *value = None;
                let refused = |error| Fault::Refused(format!("{step:?}: {error}"));
                elements.fill_with_value(new).map_err(refused)?;
                *value = Some(new);
            }
            Step::Read { .. } => {
                let refused = |error| Fault::Refused(format!("{step:?}: {error}"));
                let found = elements.copy_to_vec().map_err(refused)?;
                check(step, &found, *value)?;
            }
            Step::Zero { stream, .. } => {
                let filled = world.stream(stream).memset_zeros(elements);
                if filled.is_ok() {
                    *value = Some(0);
                }
            }
            Step::Upload { stream, value: new, .. } => {
                let source = vec![new; elements.len()];
                if world.stream(stream).memcpy_htod(&source, elements).is_ok() {
                    *value = Some(new);
                }
            }
            Step::Download { stream, .. } => {
                let Ok(found) = world.stream(stream).clone_dtoh(elements) else { return Ok(()) };
                world.stream(stream).synchronize().unwrap();
                check(step, &found, *value)?;
            }
            Step::Forget { stream, .. } => {
                let (_, guard) = elements.device_ptr_mut(world.stream(stream));
                mem::forget(guard);
            }
            Step::Record { stream, .. } => {
                let _ = record_use(elements, world.stream(stream));
            }
            _ => {}
        }
        Ok(())
    }
}

impl Step {
    /// Returns the view of the step.
    fn view(self) -> usize {
        match self {
            Self::Fill { view, .. }
            | Self::Read { view }
            | Self::Zero { view, .. }
            | Self::Upload { view, .. }
            | Self::Download { view, .. }
            | Self::Forget { view, .. }
            | Self::Record { view, .. } => view,
            _ => 0,
        }
    }
}

fn check(step: Step, found: &[u8], expected: Option<u8>) -> Checked {
    let Some(expected) = expected else { return Ok(()) };
    match found.iter().find(|found| **found != expected) {
        Some(found) => Err(Fault::Wrong(format!("{step:?}: {found} instead of {expected}"))),
        None => Ok(()),
    }
}

fn take_all<B: Layout>(setup: Setup, steps: &[Step]) -> Checked {
    let (mut world, mut pools) = World::new::<B>(setup);
    for part in steps.split_inclusive(|step| matches!(step, Step::Close { .. })) {
        let mut open = Open::new(&mut pools);
        part.iter().try_for_each(|step| open.take(*step, &mut world))?;
        let Some(Step::Close { trim, forget }) = part.last() else { continue };
        open.close(*forget);
        if *trim {
            for pool in &mut pools {
                pool.trim();
            }
        }
    }
    Ok(())
}

/// Returns `true` if a report concerns a call with the address 0. cudarc makes such calls if a
/// stream is refused, and the driver is expected to refuse them.
pub(crate) fn is_meant(report: &str) -> bool {
    report.contains("at 0x0: nothing")
}

/// Executes all steps of a program, and continues after errors. After `arm` is called, driver calls
/// fail. Returns the number of errors and the number of wrong results. Steps in which cudarc copies
/// from or to the host are left out, because cudarc orders such copies itself.
pub(crate) fn take_in_spite_of_failures(number: u64, arm: &dyn Fn()) -> (usize, usize) {
    // Every second program runs on stacks.
    if number.is_multiple_of(2) {
        take_on::<Cuda>(number, arm)
    } else {
        take_on::<Stacked<Cuda>>(number, arm)
    }
}

fn take_on<B: Layout>(number: u64, arm: &dyn Fn()) -> (usize, usize) {
    let (mut world, mut pools) = World::new::<B>(Setup::of(number));
    let is_ours = |step: &Step| !matches!(step, Step::Upload { .. } | Step::Download { .. });
    let steps: Vec<Step> = Step::all_of(number).into_iter().filter(is_ours).collect();
    let (mut refused, mut wrong) = (0, 0);
    arm();
    for part in steps.split_inclusive(|step| matches!(step, Step::Close { .. })) {
        let mut open = Open::new(&mut pools);
        for step in part {
            match open.take(*step, &mut world) {
                Ok(()) => {}
                Err(Fault::Refused(_)) => refused += 1,
                Err(Fault::Wrong(_)) => wrong += 1,
            }
        }
        let Some(Step::Close { trim, forget }) = part.last() else { continue };
        open.close(*forget);
        if *trim {
            for pool in &mut pools {
                pool.trim();
            }
        }
    }
    (refused, wrong)
}

/// Runs a program, and panics with a description of its failure.
fn run<B: Layout>(simulator: Simulator, number: u64, setup: Setup, steps: &[Step]) {
    let devices = Settings { devices: 2, ..Settings::default() };
    start_anew(simulator, devices, number);
    let taken = take_all::<B>(setup, steps);
    let deferred_frees = Cuda::retry_deferred_frees();
    if let Err(fault) = taken {
        panic!("{}", fault.text());
    }
    let reports = simulator.reports().into_iter().map(|report| report.to_string());
    if let Some(report) = reports.into_iter().find(|report| !is_meant(report)) {
        panic!("{report}");
    }
    let leaks = simulator.leaks();
    assert!(deferred_frees == 0 && leaks.is_empty(), "leak: {deferred_frees}, {leaks:?}");
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn random_programs_over_two_devices() {
    println!("FIGURE: two devices, {}", run_all::<Cuda>());
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn random_programs_on_stacks_over_two_devices() {
    println!("FIGURE: two devices, stacks, {}", run_all::<Stacked<Cuda>>());
}

/// Runs all programs and returns their number.
fn run_all<B: Layout>() -> impl std::fmt::Display {
    let simulator = start();
    let program = |number| (Setup::of(number), Step::all_of(number));
    shrink::run_programs(program, |number, setup, steps| {
        run::<B>(simulator, number, *setup, steps);
    })
}
