//! Quantities over time, in few points: each is the maximum of its part of the events.

/// Points that are kept; one of them may be half full.
const MOST_POINTS: usize = 128;

/// The course of several quantities.
#[derive(Debug)]
pub(crate) struct Curve {
    /// Events that one point stands for.
    stride: u64,
    events: u64,
    points: Vec<Vec<u64>>,
}

impl Curve {
    pub(crate) fn new() -> Self {
        Self { stride: 1, events: 0, points: Vec::new() }
    }

    /// Records the quantities after an event; their number is the same each time.
    pub(crate) fn note(&mut self, values: impl Iterator<Item = u64>) {
        let is_new = self.events % self.stride == 0;
        self.events += 1;
        if is_new {
            self.points.push(values.collect());
        } else if let Some(last) = self.points.last_mut() {
            last.iter_mut().zip(values).for_each(|(most, value)| *most = (*most).max(value));
        }
        if self.points.len() > MOST_POINTS {
            self.halve();
        }
    }

    /// Merges neighbours, so that each point stands for twice the number of events.
    fn halve(&mut self) {
        // The last point, which has just begun, stays the first of a pair.
        self.points = merged(&self.points, 2);
        self.stride *= 2;
    }

    /// Returns the course in at most `most` points.
    pub(crate) fn points(&self, most: usize) -> Vec<Vec<u64>> {
        merged(&self.points, self.points.len().div_ceil(most.max(1)).max(1))
    }
}

fn merged(points: &[Vec<u64>], each: usize) -> Vec<Vec<u64>> {
    let most = |part: &[Vec<u64>]| {
        let mut most = part[0].clone();
        for point in part {
            most.iter_mut().zip(point).for_each(|(most, &value)| *most = (*most).max(value));
        }
        most
    };
    points.chunks(each).map(most).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The number of points stays small for any number of events, and their maximum is that of the events.
    #[test]
    fn maxima_survive() {
        for length in [1_u64, 127, 128, 129, 130, 257, 1000, 12_345] {
            let mut curve = Curve::new();
            let value = |event: u64| event * 7919 % 10_007;
            (0..length).for_each(|event| curve.note([value(event), event].into_iter()));
            let points = curve.points(16);
            assert!(!points.is_empty() && points.len() <= 16, "{length}: {}", points.len());
            let most = |column: usize| points.iter().map(|point| point[column]).max();
            assert_eq!(most(0), (0..length).map(value).max());
            assert_eq!(most(1), Some(length - 1));
            assert!(points.windows(2).all(|two| two[0][1] < two[1][1]));
        }
    }
}
