//! Problems of the same character as the public traces. They were never used while the planner was written.

use pool_plan::{Buffer, IntervalProblem, PlanError};

/// Returns a variant of a problem that fits the same capacity: time may run backwards, and the
/// buffers are shuffled. With `cuts`, an eighth of the buffers are cut in two by address, an eighth
/// by time, and an eighth die earlier. That gives more buffers and sections, without more room.
pub(crate) fn refitted(
    problem: &IntervalProblem,
    cuts: bool,
    seed: u64,
) -> Result<IntervalProblem, PlanError> {
    let mut random = Random::new(seed);
    let backwards = random.below(2) == 0;
    let mut buffers = Vec::new();
    for buffer in problem.buffers() {
        let mut one = buffer.clone();
        if backwards {
            (one.lower, one.upper) = (-buffer.upper, -buffer.lower);
        }
        let duration = one.upper - one.lower;
        match if cuts { random.below(8) } else { 8 } {
            0 if one.size >= 2048 => {
                let mut top = one.clone();
                top.size = 1024 * (1 + random.below(one.size / 1024 - 1));
                one.size -= top.size;
                buffers.push(top);
            }
            1 if duration >= 4 => {
                let mut later = one.clone();
                later.lower += 1 + random.below(duration as u64 - 2) as i64;
                one.upper = later.lower;
                buffers.push(later);
            }
            2 if duration >= 8 => one.upper -= random.below(duration as u64 / 4) as i64,
            _ => {}
        }
        buffers.push(one);
    }
    named(buffers, &mut random)
}

/// Returns rectangles of time and addresses, cut out of one of 1,048,576 bytes. Some of them are left out.
pub(crate) fn cut_out(count: usize, seed: u64) -> Result<IntervalProblem, PlanError> {
    cut_while(count, seed, |mut one, random| {
        let mut other = one.clone();
        let duration = one.upper.abs_diff(one.lower);
        if is_tall(&one) && one.size >= 2048 {
            other.size = 1024 * (1 + random.below(one.size / 1024 - 1));
            one.size -= other.size;
        } else if duration >= 4 {
            other.lower += 1 + random.below(duration - 2) as i64;
            one.upper = other.lower;
        } else {
            return vec![one];
        }
        vec![one, other]
    })
}

/// Cuts large pieces of a rectangle by `cut` until there are `count`, and leaves some of them out.
fn cut_while(
    count: usize,
    seed: u64,
    cut: impl Fn(Buffer, &mut Random) -> Vec<Buffer>,
) -> Result<IntervalProblem, PlanError> {
    let mut random = Random::new(seed);
    let mut pieces = vec![Buffer::new("", 0, 1_000_000, 1 << 20)];
    while pieces.len() < count {
        let one = take_large(&mut pieces, &mut random);
        pieces.extend(cut(one, &mut random));
    }
    pieces.retain(|_| random.below(100) >= 8);
    named(pieces, &mut random)
}

/// Returns `true` if a piece has more of the rectangle's addresses than of its time, which decides
/// which way to cut.
fn is_tall(piece: &Buffer) -> bool {
    let duration = piece.upper.abs_diff(piece.lower);
    piece.size as f64 / f64::from(1 << 20) > duration as f64 / 1e6
}

/// Takes one of the pieces, which are not empty: the largest of four, so that sizes stay within an
/// order of magnitude or two.
fn take_large(pieces: &mut Vec<Buffer>, random: &mut Random) -> Buffer {
    let area = |one: &Buffer| u128::from(one.size) * u128::from(one.upper.abs_diff(one.lower));
    let four = [(); 4].map(|()| random.below(pieces.len() as u64) as usize);
    let chosen = four.into_iter().max_by_key(|&one| area(&pieces[one])).unwrap_or(four[0]);
    pieces.swap_remove(chosen)
}

/// Returns rectangles as [`cut_out`] does. Half of the cuts are pinwheels: five pieces that no straight cut separates.
#[allow(dead_code, reason = "not all that include this file have such a family")]
pub(crate) fn pinwheels(count: usize, seed: u64) -> Result<IntervalProblem, PlanError> {
    cut_while(count, seed, |whole, random| {
        let duration = whole.upper.abs_diff(whole.lower);
        if whole.size < 3 * 1024 || duration < 8 {
            return vec![whole];
        }
        let kibibytes = whole.size / 1024;
        // Two cuts of the addresses and two of the time, the first before the second.
        let first = 1 + random.below(kibibytes - 2);
        let second = first + 1 + random.below(kibibytes - first - 1);
        let early = 1 + random.below(duration - 2);
        let late = early + 1 + random.below(duration - early - 1);
        let time = |offset: u64| whole.lower + offset as i64;
        let piece = |lower: u64, upper: u64, size: u64| {
            Buffer::new("", time(lower), time(upper), 1024 * size)
        };
        if random.below(2) == 0 {
            return vec![
                piece(0, late, first),
                piece(late, duration, second),
                piece(early, duration, kibibytes - second),
                piece(0, early, kibibytes - first),
                piece(early, late, second - first),
            ];
        }
        if is_tall(&whole) {
            return [first, kibibytes - first].map(|size| piece(0, duration, size)).to_vec();
        }
        vec![piece(0, early, kibibytes), piece(early, duration, kibibytes)]
    })
}

/// Returns a variant of a network's trace: each distinct size becomes another one, and time may run backwards.
pub(crate) fn resized(problem: &IntervalProblem, seed: u64) -> Result<IntervalProblem, PlanError> {
    let mut random = Random::new(seed);
    let (backwards, salt) = (random.below(2) == 0, random.next());
    let mut buffers = problem.buffers().to_vec();
    for buffer in &mut buffers {
        // From half to twice the size, in sixteenths.
        let sixteenths = 8 + Random::new(buffer.size ^ salt).below(25);
        buffer.size = (buffer.size / 16).max(4) * sixteenths;
        if backwards {
            (buffer.lower, buffer.upper) = (-buffer.upper, -buffer.lower);
        }
    }
    named(buffers, &mut random)
}

/// Returns the buffers in random order, named by their place in it.
fn named(mut buffers: Vec<Buffer>, random: &mut Random) -> Result<IntervalProblem, PlanError> {
    for last in (1..buffers.len()).rev() {
        buffers.swap(last, random.below(last as u64 + 1) as usize);
    }
    for (index, buffer) in buffers.iter_mut().enumerate() {
        buffer.id = index.to_string();
    }
    IntervalProblem::new(buffers)
}

struct Random(u64);

impl Random {
    fn new(seed: u64) -> Self {
        let mut random = Self(seed.wrapping_add(0x5851_F42D_4C95_7F2D) | 1);
        for _ in 0..8 {
            random.next();
        }
        random
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, limit: u64) -> u64 {
        (self.next() >> 16) % limit
    }
}
