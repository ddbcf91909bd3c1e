//! Families of problems on which the portfolio was not tuned, and three families that resemble
//! problems on which it was tuned. For more than 16,384 buffers, it was tuned on all of them.

use pool_plan::{Buffer, IntervalProblem};

/// The names of the families.
pub(crate) const FRESH: [&str; 10] = [
    "unet",
    "decode",
    "experts",
    "ring",
    "random_dag",
    "recompute",
    "bursts",
    "staircase",
    "mixed_tails",
    "slabs",
];

/// The names of three families that resemble problems on which the portfolio was tuned: problems
/// with padding, with lifetimes inside lifetimes, and with groups of buffers that all overlap.
pub(crate) const FAMILIAR: [&str; 3] = ["aligned", "nested", "cliques"];

/// Random numbers (`SplitMix64`).
pub(crate) struct Random(u64);

impl Random {
    #[allow(dead_code, reason = "only the benchmark of lateness makes random choices of its own")]
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number from `low` to below `high`.
    pub(crate) fn within(&mut self, low: u64, high: u64) -> u64 {
        low + self.next() % (high - low).max(1)
    }

    /// Returns a number with an exponential distribution.
    fn exponential(&mut self, mean: f64) -> u64 {
        let fraction = (self.next() >> 11) as f64 / (1_u64 << 53) as f64;
        (-(1.0 - fraction).ln() * mean) as u64
    }
}

/// Returns a problem of about `count` buffers.
pub(crate) fn problem(family: &str, count: usize, seed: u64) -> IntervalProblem {
    let mut random = Random(seed.wrapping_mul(0xD134_2543_DE82_EF95) ^ family.len() as u64);
    let mut spans: Vec<(u64, u64, u64)> = Vec::new();
    let n = count as u64;
    while spans.len() < count {
        let i = spans.len() as u64;
        match family {
            // With skip connections, the first output is read last.
            "unet" => {
                let depth = n / 3;
                let level = i / 3;
                let size = (1 << 20) >> (level * 8 / depth.max(1)).min(8);
                spans.push((level, 2 * depth + 2 - level, size + random.within(0, 64)));
                spans.push((level, level + 2, size * 2));
                spans.push((2 * depth + 1 - level, 2 * depth + 3 - level, size * 2));
            }
            // A cache grows by a page every few steps, and is freed as a whole.
            "decode" => {
                let (begin, pages) = (random.within(0, n), random.within(2, 40));
                for page in 0..pages {
                    spans.push((begin + page * 4, begin + pages * 4 + 1, 4096 * 16));
                }
                spans.push((begin, begin + 2, random.within(1, 2000) * 512));
            }
            "experts" => {
                let experts = random.within(1, 9);
                for expert in 0..experts {
                    let size = random.within(1, 129) * 1024;
                    spans.push((i + expert, i + experts + 1, size));
                    spans.push((i + expert, i + expert + 2, size * 4));
                }
            }
            "ring" => spans.push((i, i + 3 + i % 4, 1 << random.within(10, 16))),
            "random_dag" => {
                let end = i + 1 + random.exponential(6.0) * random.within(1, 12);
                spans.push((i, end, random.within(1, 1000) * 256));
            }
            // The inner values of each segment are computed a second time on the way back.
            "recompute" => {
                let (segment, inner) = (i / 20, n / 10);
                let back = 2 * inner - segment;
                spans.push((segment * 10, back * 10 + 9, random.within(8, 64) << 12));
                for step in 0..9 {
                    let size = random.within(1, 64) << 12;
                    spans.push((segment * 10 + step, segment * 10 + step + 2, size));
                    spans.push((back * 10 + step, back * 10 + 18 - step, size));
                }
            }
            "bursts" => {
                let begin = random.within(0, n / 50 + 1) * 100;
                let end = begin + 1 + random.within(0, 30);
                spans.push((begin + random.within(0, 5), end + 5, 1 + random.exponential(3e5)));
            }
            "staircase" => spans.push((i, i + 20 + i * i % 31, 4000 + i % 97 * 53 + i % 13 * 7)),
            "mixed_tails" => {
                let mean = if random.within(0, 200) == 0 { n as f64 / 20.0 } else { 25.0 };
                let begin = random.within(0, n);
                spans.push((
                    begin,
                    begin + 1 + random.exponential(mean),
                    512 * (1 + random.exponential(40.0)),
                ));
            }
            "aligned" => {
                let begin = random.within(0, n / 2);
                let size = random.within(1, 5_000) * [1, 1, 16, 300][random.within(0, 4) as usize];
                spans.push((begin, begin + random.within(1, 15), size));
            }
            // Each lifetime is inside a random earlier one.
            "nested" => {
                let outer = spans
                    .len()
                    .checked_sub(1)
                    .map(|last| spans[last - random.within(0, 20).min(last as u64) as usize]);
                let (lower, upper, _) = outer.filter(|_| i % 50 > 0).unwrap_or((0, 8 * n, 0));
                let begin = random.within(lower, upper);
                let size = 1 << random.within(5, 18);
                spans.push((begin, random.within(begin, upper) + 1, size + random.within(0, size)));
            }
            "cliques" => {
                let begin = i / 30 * 10;
                let (lower, upper) = (random.within(0, 5), random.within(6, 19));
                spans.push((begin + lower, begin + upper, random.within(1, 1 << 16)));
            }
            _ => {
                let begin = random.within(0, n);
                spans.push((
                    begin,
                    begin + random.within(1, 60),
                    random.within(1, 9) << random.within(8, 18),
                ));
            }
        }
    }
    spans.truncate(count);
    let buffers = spans.into_iter().enumerate().map(|(number, (lower, upper, size))| {
        let alignment = if family == "aligned" {
            [16, 64, 128, 4_096][random.within(0, 4) as usize]
        } else {
            1
        };
        Buffer { alignment, ..Buffer::new(number.to_string(), lower as i64, upper as i64, size) }
    });
    IntervalProblem::new(buffers.collect()).expect("valid problems")
}
