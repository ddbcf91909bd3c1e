//! Families besides networks: the memory of pipelines, servers, recursion and allocators of pages.

use super::{Family, Trace};

impl Trace {
    /// Returns the buffers of a family of this file.
    pub(super) fn pattern(&mut self, family: Family) {
        match family {
            Family::Pipeline => self.pipeline(),
            Family::Serving => self.serving(),
            Family::Powers => self.powers(),
            Family::Nested => self.nested(),
            Family::Comb => self.comb(),
            Family::Sawtooth => self.sawtooth(),
            Family::EqualLifetimes => self.equal_lifetimes(),
            Family::Pages => self.pages(),
            Family::Bits => self.bits(),
            other => panic!("nobody makes buffers of {other:?}"),
        }
    }

    fn pipeline(&mut self) {
        let (stages, depth) = (2 + self.random.below(5), 2 + self.random.below(4));
        let sizes: Vec<u64> = (0..stages).map(|_| (1 + self.random.below(64)) << 16).collect();
        let mut batch = 0;
        while !self.is_whole() {
            for (stage, size) in (0..).zip(&sizes) {
                let forward = batch * 2 + stage;
                let backward = batch * 2 + 2 * stages * depth - stage;
                let more = 512 * self.random.below(4);
                self.add(forward, backward, size + more);
            }
            batch += 1;
        }
    }

    fn serving(&mut self) {
        let mut time = 0;
        while !self.is_whole() {
            time += self.random.below(4);
            let (length, pages) = (self.random.long_tail(128), 1 + self.random.below(200));
            self.add(time, time + length, pages << 14);
        }
    }

    fn powers(&mut self) {
        let span = self.count as u64;
        while !self.is_whole() {
            let (exponent, kind) = (self.random.below(19), self.random.below(50));
            let lower = self.random.below(span);
            let length = 1 + self.random.below(span / 4 + 1);
            let (lower, upper) = if kind == 0 { (0, 2 * span) } else { (lower, lower + length) };
            self.add(lower, upper, 64 << exponent);
        }
    }

    fn nested(&mut self) {
        let mut calls = vec![(0, self.count as u64, 0)];
        while !self.is_whole() {
            let Some((lower, upper, depth)) = calls.pop() else {
                calls.push((0, self.count as u64, 0));
                continue;
            };
            let size = 1 + self.random.below(1 << 20);
            self.add(lower, upper, size);
            if depth < 12 && upper - lower > 2 {
                let middle = lower + 1 + self.random.below(upper - lower - 1);
                calls.extend([(middle, upper, depth + 1), (lower, middle, depth + 1)]);
            }
        }
    }

    fn comb(&mut self) {
        let span = self.count as u64;
        while !self.is_whole() {
            let time = self.buffers.len() as u64;
            let (long, short) = (span / 3 + self.random.below(span), 1 + self.random.below(4));
            let (small, large) = (1 + self.random.below(4096), 1 + self.random.below(15));
            if time % 3 == 0 {
                self.add(time, time + long, small);
            } else {
                self.add(time, time + short, large << 18);
            }
        }
    }

    fn sawtooth(&mut self) {
        let mut time = 0;
        while !self.is_whole() {
            let teeth = 4 + self.random.below(60);
            for step in 0..teeth {
                let size = 1 + self.random.below(1 << 16);
                self.add(time + step, time + teeth, size);
                let scratch = 1 + self.random.below(1 << 18);
                self.add(time + step, time + step + 1, scratch);
            }
            // The next tooth begins before or after the end of this one.
            time += teeth - self.random.below(3);
        }
    }

    fn equal_lifetimes(&mut self) {
        let length = 2 + self.random.below(40);
        let mut time = 0;
        while !self.is_whole() {
            time += self.random.below(3);
            let size = 1 + self.random.below(1 << 20);
            self.add(time, time + length, size);
        }
    }

    fn pages(&mut self) {
        let span = self.count as u64;
        while !self.is_whole() {
            let lower = self.random.below(span);
            let (length, size) = if self.random.below(4) == 0 {
                (self.random.long_tail(span), (1 + self.random.below(8)) << 21)
            } else {
                (self.random.long_tail(span / 8 + 2), 256 + self.random.below(1 << 15))
            };
            self.add(lower, lower + length, size);
        }
    }

    fn bits(&mut self) {
        let span = (self.count as u64).next_power_of_two();
        while !self.is_whole() {
            let (one, other) = (self.random.below(span), self.random.below(span));
            let (lower, upper) = (one & other, (one | other) + 1);
            let size = 1 + (self.random.below(1 << 20) & self.random.below(1 << 20));
            self.add(lower, upper, size);
        }
    }
}
