//! Quantities over time, which are reduced to a few points. Each point is the maximum of the
//! quantity over a range of events.

/// The number of points that are stored. The last point may be incomplete.
const MOST_POINTS: usize = 128;

/// The values of several quantities over time.
#[derive(Debug)]
pub(crate) struct Curve {
    /// The number of events that one point represents.
    stride: u64,
    events: u64,
    points: Vec<Vec<u64>>,
}

impl Curve {
    pub(crate) fn new() -> Self {
        Self { stride: 1, events: 0, points: Vec::new() }
    }

    /// Records the quantities after an event. The number of quantities must be the same for every
    /// event.
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

    /// Merges neighbouring points, so that each point represents twice the number of events.
    fn halve(&mut self) {
        // The last point has just begun, and becomes the first half of a merged point.
        self.points = merged(&self.points, 2);
        self.stride *= 2;
    }

    /// Returns the curve with at most `most` points.
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

    /// Whatever the number of events, the curve contains few points, and its maximum equals the
    /// maximum over all events.
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
