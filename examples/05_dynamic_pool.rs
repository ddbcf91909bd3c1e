//! Memory that a program requests at run time: an interpreter for postfix formulas on whole arrays.
//!
//! The brackets of a formula are known only once the formula has been read, so lexical scopes do
//! not fit. `[` creates a checkpoint, and `]` rewinds to it. Arrays computed between the brackets
//! return to the pool, and the value on top of the stack is kept.
//!
//! ```text
//! cargo run --release --example 05_dynamic_pool
//! ```

use std::collections::HashMap;
use std::error::Error;

use pool_facade::error_chain;
use pool_facade::prelude::*;

/// Evaluates formulas such as `[ x x * ] [ y y * ] + sqrt`.
struct Interpreter {
    pool: DynamicPool<Cpu>,
    length: usize,
    variables: HashMap<&'static str, Vec<f64>>,
}

/// A formula's open brackets, and the values that have been computed but not used yet.
#[derive(Default)]
struct Work {
    stack: Vec<Handle<f64>>,
    brackets: Vec<Bracket>,
}

/// An open bracket: its checkpoint, and the array that will hold its value.
struct Bracket {
    value: Handle<f64>,
    depth: usize,
}

impl Work {
    fn pop(&mut self) -> Result<Handle<f64>, &'static str> {
        self.stack.pop().ok_or("the formula lacks an operand")
    }
}

impl Interpreter {
    fn new(length: usize, variables: HashMap<&'static str, Vec<f64>>) -> Self {
        Self { pool: DynamicPool::new(()), length, variables }
    }

    /// Returns the value of a formula. Afterwards, all arrays of the formula have returned to the
    /// pool.
    fn evaluate(&mut self, formula: &str) -> Result<Vec<f64>, Box<dyn Error>> {
        self.pool.reset();
        let mut work = Work::default();
        for word in formula.split_whitespace() {
            self.step(word, &mut work)?;
        }
        if !work.brackets.is_empty() {
            return Err("a bracket is not closed".into());
        }
        Ok(self.pool.get(work.pop()?)?.to_vec())
    }

    fn step(&mut self, word: &str, work: &mut Work) -> Result<(), Box<dyn Error>> {
        match word {
            "[" => {
                // This array is acquired below the checkpoint, so it outlives the rewind.
                let value = self.pool.acquire(self.length);
                work.brackets.push(Bracket { value, depth: self.pool.checkpoint() });
            }
            "]" => {
                let Bracket { value, depth } = work.brackets.pop().ok_or("no bracket is open")?;
                let [kept, top] = self.pool.get_disjoint_mut([value, work.pop()?])?;
                kept.copy_from_slice(top);
                self.pool.rewind_to(depth)?;
                work.stack.push(value);
            }
            "sqrt" => {
                let top = work.pop()?;
                self.pool.get_mut(top)?.iter_mut().for_each(|number| *number = number.sqrt());
                work.stack.push(top);
            }
            "+" => self.combine(work, |left, right| left + right)?,
            "-" => self.combine(work, |left, right| left - right)?,
            "*" => self.combine(work, |left, right| left * right)?,
            "/" => self.combine(work, |left, right| left / right)?,
            _ => work.stack.push(self.operand(word)?),
        }
        Ok(())
    }

    fn operand(&mut self, word: &str) -> Result<Handle<f64>, Box<dyn Error>> {
        if let Some(values) = self.variables.get(word) {
            return Ok(self.pool.acquire_from(values));
        }
        let number =
            word.parse().map_err(|_| format!("`{word}` is neither a variable nor a number"))?;
        Ok(self.pool.acquire_filled(self.length, number))
    }

    fn combine(
        &mut self,
        work: &mut Work,
        operation: impl Fn(f64, f64) -> f64,
    ) -> Result<(), Box<dyn Error>> {
        let (right, left) = (work.pop()?, work.pop()?);
        let result = self.pool.acquire(self.length);
        let [left, right, out] = self.pool.get_disjoint_mut([left, right, result])?;
        for (out, (left, right)) in out.iter_mut().zip(left.iter().zip(right.iter())) {
            *out = operation(*left, *right);
        }
        work.stack.push(result);
        Ok(())
    }
}

/// Creates an interpreter with 10,000 points of a circle with radius 2.
fn circle() -> Interpreter {
    let angles = || (0..10_000).map(f64::from);
    let x = angles().map(|angle| 2.0 * angle.cos()).collect();
    let y = angles().map(|angle| 2.0 * angle.sin()).collect();
    Interpreter::new(10_000, HashMap::from([("x", x), ("y", y)]))
}

fn main() -> Result<(), Box<dyn Error>> {
    for formula in ["x x * y y * + sqrt", "[ x x * ] [ y y * ] + sqrt"] {
        let mut interpreter = circle();
        let radius = interpreter.evaluate(formula)?;
        if radius.iter().any(|radius| (radius - 2.0).abs() > 1e-12) {
            return Err("the points are not on the circle".into());
        }
        println!("{formula}\n{}", interpreter.pool.stats());
    }
    // The bracket leaves two values and keeps one. The memory of the other value is freed. Using
    // the other value's handle is an error, so newer contents are never read by mistake.
    match circle().evaluate("[ 1 2 ] +") {
        Ok(_) => Err("a value outlived its bracket".into()),
        Err(error) => {
            println!("[ 1 2 ] +\n  {}", error_chain(error.as_ref()));
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn small() -> Interpreter {
        Interpreter::new(2, HashMap::from([("x", vec![1.0, 4.0]), ("y", vec![2.0, 8.0])]))
    }

    #[test]
    fn formulas_have_their_values() {
        let mut interpreter = small();
        for (formula, expected) in [
            ("x", [1.0, 4.0]),
            ("x y + 3 *", [9.0, 36.0]),
            ("[ x [ y y * ] - ] 2 /", [-1.5, -30.0]),
            ("y 2 / sqrt", [1.0, 2.0]),
        ] {
            assert_eq!(interpreter.evaluate(formula).unwrap(), expected, "{formula}");
        }
    }

    #[test]
    fn a_bracket_gives_its_temporaries_back() {
        let mut open = small();
        let mut bracketed = small();
        let terms = 50;
        let sum: String = (0..terms).map(|_| " x y * 1 - +").collect();
        let closed: String = (0..terms).map(|_| " [ x y * 1 - ] +").collect();
        let expected = open.evaluate(&format!("0{sum}")).unwrap();
        assert_eq!(bracketed.evaluate(&format!("0{closed}")).unwrap(), expected);
        // Each term uses six arrays. With brackets, it uses two, for the bracket's value and for
        // the sum, and four more while the bracket is open.
        assert_eq!(open.pool.stats().high_water_slots, 1 + 6 * terms);
        assert_eq!(bracketed.pool.stats().high_water_slots, 1 + 2 * terms + 4);
    }

    #[test]
    fn the_second_evaluation_allocates_nothing() {
        let mut interpreter = small();
        interpreter.evaluate("[ x y * ] [ x y + ] /").unwrap();
        let growths = interpreter.pool.stats().growths;
        interpreter.evaluate("[ x y * ] [ x y + ] /").unwrap();
        assert_eq!(interpreter.pool.stats().growths, growths);
    }

    #[test]
    fn what_a_bracket_dropped_is_a_stale_handle() {
        let error = small().evaluate("[ 1 2 ] +").unwrap_err();
        let error = error.downcast::<PoolError<pool_facade::CpuError>>().unwrap();
        assert!(matches!(*error, PoolError::StaleHandle { .. }), "{error}");
    }

    #[test]
    fn wrong_formulas_are_errors() {
        for formula in ["", "+", "x +", "]", "[ x", "x nonsense *"] {
            assert!(small().evaluate(formula).is_err(), "{formula}");
        }
    }
}
