//! A lower bound on the cost, proved by prices per byte. The subgradient method raises a memory's
//! prices at the times when the memory is full. In this way, the method solves the dual of the
//! linear program that assigns buffers to memories.
//!
//! Any set of prices proves a lower bound, so the subgradient method may stop after any step. The
//! subgradient method computes the prices as floating-point numbers and rounds them to integers
//! before it computes the bound.

use crate::memory::Price;
use crate::work::Limit;

use super::instance::Instance;

/// The maximum number of steps in the subgradient method.
const MOST_STEPS: usize = 600;
/// The maximum number of passes over buffers and sections in all steps of the subgradient method.
const MOST_PASSES: usize = 60_000_000;
/// The number of steps without progress after which the step length is halved.
const PATIENCE: usize = 6;
/// The factors by which the step length is multiplied. The first factor applies after a step that
/// makes progress, and the second applies after several steps without progress.
const LENGTHS: [f64; 2] = [1.25, 0.5];

/// Prices, and the lower bound that follows from them.
#[derive(Clone, Debug, Default)]
pub(super) struct Proof {
    pub(super) bound: u64,
    /// The prices of each memory's sections, in units of 1 / `Price::UNIT`.
    prices: Vec<Vec<u64>>,
    /// The lower bound before rounding, in units of 1 / `Price::UNIT`.
    total: i128,
    /// Each buffer's cost in each memory at this proof's prices, in units of 1 / `Price::UNIT`.
    pub(super) asked: Vec<Vec<i128>>,
    /// The part of the lower bound that is not attributed to any buffer.
    pub(super) rest: i128,
}

impl Proof {
    /// Returns the cheapest memory for each buffer at this proof's prices.
    // Uncounted: the loop needs no counter because the function makes only one pass over the
    // buffers.
    pub(super) fn cheapest(&self, instance: &Instance<'_>) -> Vec<usize> {
        let least = |(buffer, asked): (usize, &Vec<i128>)| {
            let choices = instance.choices(buffer);
            let least = asked.iter().zip(choices).min_by_key(|(ask, _)| **ask);
            least.map_or(choices[0], |(_, &memory)| memory)
        };
        self.asked.iter().enumerate().map(least).collect()
    }

    /// Returns the prices that are not 0.
    pub(super) fn prices(&self, instance: &Instance<'_>) -> Vec<Price> {
        let rows = self.prices.iter().enumerate();
        let all = rows.flat_map(|(memory, row)| {
            let priced = instance.times.iter().zip(row).filter(|(_, price)| **price > 0);
            priced.map(move |(&time, &price)| Price { memory, time, price })
        });
        all.collect()
    }
}

/// Computes the best lower bound that the subgradient method finds. `cost` is a known plan's cost,
/// which no lower bound can exceed.
// Uncounted: the loop needs no counter because the function checks the clock after each step.
pub(super) fn proof(instance: &Instance<'_>, cost: Option<u64>, limit: Limit<'_>) -> Proof {
    let mut best = prove(instance, &round(instance, &first(instance)));
    let (count, sections) = (instance.len(), instance.times.len());
    let passes = (count + sections) * instance.memories().len();
    let steps = (MOST_PASSES / passes.max(1)).clamp(8, MOST_STEPS);
    let mut prices = first(instance);
    let mut length = 1.0;
    // The best prices so far, the bound that follows from them, and each section's live bytes.
    let mut kept = (prices.clone(), 0.0_f64, Vec::new());
    let mut idle = 0;
    for _ in 0..steps {
        if limit.is_reached() || cost == Some(best.bound) {
            break;
        }
        let (mut value, mut loads) = relaxed(instance, &prices);
        if kept.2.is_empty() || value > kept.1 + 1e-9 * kept.1.abs() {
            kept = (prices.clone(), value, loads.clone());
            (length, idle) = (length * LENGTHS[0], 0);
            let rounded = prove(instance, &round(instance, &prices));
            if rounded.total > best.total {
                best = rounded;
            }
        } else {
            idle += 1;
            if idle == PATIENCE {
                (length, idle) = (length * LENGTHS[1], 0);
                (prices, value, loads) = kept.clone();
            }
        }
        let goal = cost.map_or(kept.1 * 1.05 + 1.0, as_number);
        step(instance, &mut prices, &loads, length * (goal - value).max(1e-6 * goal.abs()));
    }
    best
}

#[expect(clippy::cast_precision_loss, reason = "prices are rounded before they prove anything")]
fn as_number(bytes: u64) -> f64 {
    bytes as f64
}

/// Returns the initial prices. At the time with the most live bytes, each memory's price equals its
/// cost per byte.
fn first(instance: &Instance<'_>) -> Vec<Vec<f64>> {
    let mut live = vec![0_i128; instance.times.len() + 1];
    for buffer in 0..instance.len() {
        for &(lower, upper) in instance.spans(buffer) {
            live[lower as usize] += i128::from(instance.size(buffer));
            live[upper as usize] -= i128::from(instance.size(buffer));
        }
    }
    let (mut sum, mut heaviest) = (0, (0, 0));
    for (section, bytes) in live.iter().take(instance.times.len()).enumerate() {
        sum += bytes;
        if sum > heaviest.0 {
            heaviest = (sum, section);
        }
    }
    let row = |cost: u64| {
        let mut row = vec![0.0; instance.times.len()];
        row[heaviest.1] = as_number(cost);
        row
    };
    instance.memories().iter().map(|memory| row(memory.cost)).collect()
}

/// Returns the lower bound that follows from the prices, as a floating-point number. The function
/// also returns the number of live bytes in each section if each buffer is placed in its cheapest
/// memory.
fn relaxed(instance: &Instance<'_>, prices: &[Vec<f64>]) -> (f64, Vec<Vec<f64>>) {
    let sections = instance.times.len();
    let before: Vec<Vec<f64>> = prices
        .iter()
        .map(|row| {
            let mut sum = 0.0;
            let mut before = vec![0.0];
            before.extend(row.iter().map(|price| {
                sum += price;
                sum
            }));
            before
        })
        .collect();
    let mut loads = vec![vec![0.0; sections + 1]; prices.len()];
    let mut value = 0.0;
    for buffer in 0..instance.len() {
        let size = as_number(instance.size(buffer));
        let ask = |memory: usize| {
            let live = instance.spans(buffer).iter();
            let live =
                live.map(|span| before[memory][span.1 as usize] - before[memory][span.0 as usize]);
            as_number(instance.traffic(buffer, memory)) + size * live.sum::<f64>()
        };
        let asked = instance.choices(buffer).iter().map(|&memory| (ask(memory), memory));
        let Some((least, memory)) = asked.min_by(|one, other| one.0.total_cmp(&other.0)) else {
            continue;
        };
        value += least;
        for &(lower, upper) in instance.spans(buffer) {
            loads[memory][lower as usize] += size;
            loads[memory][upper as usize] -= size;
        }
    }
    for ((memory, before), floor) in instance.memories().iter().zip(&before).zip(&instance.floors) {
        let excess = before[sections] - as_number(memory.cost);
        let held = memory.capacity.map_or(0.0, as_number);
        value -= excess.max(0.0) * held + excess.min(0.0) * as_number(*floor);
    }
    for row in &mut loads {
        let mut sum = 0.0;
        for load in row.iter_mut() {
            sum += *load;
            *load = sum;
        }
        row.pop();
    }
    (value, loads)
}

/// Raises the prices of full sections and lowers all other prices, so that the resulting prices are
/// valid.
fn step(instance: &Instance<'_>, prices: &mut [Vec<f64>], loads: &[Vec<f64>], gain: f64) {
    // The closure computes the threshold, in live bytes, above which a section's price is raised.
    // For most memories, the threshold is a weighted mean of the live bytes. Sections with higher
    // prices have a greater weight in the weighted mean.
    let excess = |memory: usize| {
        let (row, load) = (&prices[memory], &loads[memory]);
        let sum: f64 = row.iter().sum();
        let is_capped = sum > as_number(instance.memories()[memory].cost) * (1.0 + 1e-9);
        match instance.memories()[memory].capacity {
            Some(capacity) if is_capped => as_number(capacity),
            _ if sum > 0.0 => row.iter().zip(load).map(|(p, l)| p * l).sum::<f64>() / sum,
            _ => 0.0,
        }
    };
    let held: Vec<f64> = (0..prices.len()).map(excess).collect();
    let slopes = loads.iter().zip(&held);
    let norm: f64 = slopes
        .map(|(load, held)| load.iter().map(|bytes| (bytes - held) * (bytes - held)).sum::<f64>())
        .sum();
    if norm <= 0.0 {
        return;
    }
    let length = gain / norm;
    for ((row, load), memory) in prices.iter_mut().zip(loads).zip(instance.memories()) {
        let cost = as_number(memory.cost);
        let raised = |held: f64| {
            let both = row.iter().zip(load);
            both.map(move |(price, bytes)| (price + length * (bytes - held)).max(0.0))
        };
        let full =
            memory.capacity.map(|capacity| raised(as_number(capacity)).collect::<Vec<f64>>());
        let next = match full {
            Some(full) if full.iter().sum::<f64>() >= cost => full,
            _ => onto_sum(raised(0.0).collect(), cost),
        };
        *row = next;
    }
}

/// Returns the nonnegative numbers that add up to `sum` and are nearest to the given numbers.
fn onto_sum(values: Vec<f64>, sum: f64) -> Vec<f64> {
    let mut sorted = values.clone();
    sorted.sort_unstable_by(|one, other| other.total_cmp(one));
    let (mut total, mut count, mut less) = (0.0, 0.0, 0.0);
    for value in sorted {
        total += value;
        count += 1.0;
        let candidate = (total - sum) / count;
        if value - candidate <= 0.0 {
            break;
        }
        less = candidate;
    }
    values.into_iter().map(|value| (value - less).max(0.0)).collect()
}

/// Returns valid prices as integers, in units of 1 / `Price::UNIT`. Prices are rounded down. For
/// each memory, the total amount lost by rounding is then added to the highest price.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "prices are not negative, and one that is too high saturates"
)]
fn round(instance: &Instance<'_>, prices: &[Vec<f64>]) -> Vec<Vec<u64>> {
    let rows = prices.iter().zip(instance.memories()).map(|(row, memory)| {
        let sections = row.len() as u64;
        let unit = as_number(Price::UNIT);
        // The limit keeps the sum of the prices below the allowed maximum.
        let most = Price::MOST / sections.max(1);
        let mut row: Vec<u64> = row.iter().map(|price| ((price * unit) as u64).min(most)).collect();
        let cost = memory.cost.saturating_mul(Price::UNIT).min(Price::MOST);
        let sum: u64 = row.iter().sum();
        if memory.capacity.is_none() && sum > cost {
            // The sum of the rounded prices may exceed the cost because sums of floating-point
            // numbers are not exact.
            let mut over = sum - cost;
            for price in &mut row {
                let less = over.min(*price);
                (*price, over) = (*price - less, over - less);
            }
        }
        let missing = cost.saturating_sub(sum);
        if missing <= 2 * sections {
            if let Some(highest) = row.iter_mut().max_by_key(|price| **price) {
                *highest += missing;
            }
        }
        row
    });
    rows.collect()
}

/// Uses integer arithmetic to compute the lower bound that follows from the given prices.
fn prove(instance: &Instance<'_>, prices: &[Vec<u64>]) -> Proof {
    let unit = i128::from(Price::UNIT);
    let before: Vec<Vec<u64>> = prices
        .iter()
        .map(|row| {
            let mut sum = 0;
            let sums = row.iter().map(|price| {
                sum += price;
                sum
            });
            std::iter::once(0).chain(sums).collect()
        })
        .collect();
    let mut rest = 0;
    for (memory, one) in instance.memories().iter().enumerate() {
        let sum = before[memory].last().copied().unwrap_or(0);
        let excess = i128::from(sum) - i128::from(one.cost) * unit;
        let held = match one.capacity {
            _ if excess <= 0 => instance.floors[memory],
            capacity => capacity.unwrap_or(u64::MAX).min(i64::MAX as u64),
        };
        rest -= excess * i128::from(held);
    }
    let ask = |buffer: usize, memory: usize| {
        let live = instance.spans(buffer).iter();
        let live =
            live.map(|span| before[memory][span.1 as usize] - before[memory][span.0 as usize]);
        i128::from(live.sum::<u64>()) * i128::from(instance.size(buffer))
            + i128::from(instance.traffic(buffer, memory)) * unit
    };
    let asked: Vec<Vec<i128>> = (0..instance.len())
        .map(|buffer| instance.choices(buffer).iter().map(|&memory| ask(buffer, memory)).collect())
        .collect();
    let least = asked.iter().filter_map(|row| row.iter().min());
    let total = rest + least.sum::<i128>();
    let bound = u64::try_from((total + unit - 1).max(0) / unit).unwrap_or(0);
    Proof { bound, prices: prices.to_vec(), total, asked, rest }
}
