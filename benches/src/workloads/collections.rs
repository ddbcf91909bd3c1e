//! Collections in a scope. The pool's vectors are compared with `allocator-api2`'s vector, which
//! uses the scope's allocator. Two programs with maps, strings, boxes and vectors run on several
//! allocators.

use std::hash::{BuildHasherDefault, Hasher};
use std::hint::black_box;

use allocator_api2::alloc::{Allocator, Global};
use allocator_api2::boxed::Box as BoxIn;
use allocator_api2::vec::Vec as VecIn;
use hashbrown::HashMap;
use pool_facade::prelude::*;
use pool_facade::{PoolString, Stacked};

use super::on_columns::on_columns;
use super::small::Empty;
use crate::case::{Case, Work};
use crate::column::escape;

/// Sixteen bytes, including seven bytes of padding.
type Padded = (u8, u64);

pub(super) fn cases() -> Vec<Case> {
    let push = on_columns!("collections", "push 100 numbers, from no capacity":
        "empty" => Empty,
        "PoolVec, slots" => PushPool<Cpu>,
        "PoolVec, stack" => PushPool<Stacked<Cpu>>,
        "Vec in the pool's allocator, slots" => OnMemory<Pool<Cpu>, Push>,
        "Vec in the pool's allocator, stack" => OnMemory<Pool<Stacked<Cpu>>, Push>,
        "Vec in bump-scope" => OnMemory<bump_scope::Bump, Push>,
        "Vec in bumpalo" => OnMemory<bumpalo::Bump, Push>,
        "Vec" => OnMemory<Global, Push>,
    );
    let filled = on_columns!("collections", "push 100 numbers, with their capacity":
        "empty" => Empty,
        "PoolVec, slots" => FillPool<Cpu>,
        "FixedVec, slots" => FillFixed,
        "Vec in the pool's allocator, slots" => OnMemory<Pool<Cpu>, Fill>,
        "Vec in the pool's allocator, stack" => OnMemory<Pool<Stacked<Cpu>>, Fill>,
        "Vec in bump-scope" => OnMemory<bump_scope::Bump, Fill>,
        "Vec" => OnMemory<Global, Fill>,
    );
    let extend = on_columns!("collections", "extend by slices of 100 numbers, four times":
        "empty" => Empty,
        "PoolVec, slots" => ExtendPool<Cpu>,
        "PoolVec, stack" => ExtendPool<Stacked<Cpu>>,
        "Vec in the pool's allocator, slots" => OnMemory<Pool<Cpu>, ExtendBySlices>,
        "Vec in the pool's allocator, stack" => OnMemory<Pool<Stacked<Cpu>>, ExtendBySlices>,
        "Vec in bump-scope" => OnMemory<bump_scope::Bump, ExtendBySlices>,
        "Vec" => OnMemory<Global, ExtendBySlices>,
    );
    let padded = on_columns!("collections", "push 100 pairs with padding":
        "empty" => Empty,
        "PoolVec, slots" => PushPadded,
        "Vec in the pool's allocator, slots" => OnMemory<Pool<Cpu>, PushPairs>,
        "Vec in bump-scope" => OnMemory<bump_scope::Bump, PushPairs>,
        "Vec" => OnMemory<Global, PushPairs>,
    );
    let recycled = on_columns!("collections", "push 100 numbers, then 100 numbers recycled":
        "empty" => Empty,
        "PoolVec, slots" => PushThenRecycled,
        "Vec in the pool's allocator, slots" => CollectThenRecycled,
    );
    let words = on_columns!("collections", "a word count: a map, strings":
        "pool, slots" => OnMemory<Pool<Cpu>, WordCount>,
        "pool, stack" => OnMemory<Pool<Stacked<Cpu>>, WordCount>,
        "bump-scope" => OnMemory<bump_scope::Bump, WordCount>,
        "bumpalo" => OnMemory<bumpalo::Bump, WordCount>,
        "heap" => OnMemory<Global, WordCount>,
    );
    let parser = on_columns!("collections", "a parser: boxes, vectors, strings":
        "pool, slots" => OnMemory<Pool<Cpu>, Parse>,
        "pool, stack" => OnMemory<Pool<Stacked<Cpu>>, Parse>,
        "bump-scope" => OnMemory<bump_scope::Bump, Parse>,
        "bumpalo" => OnMemory<bumpalo::Bump, Parse>,
        "heap" => OnMemory<Global, Parse>,
    );
    [
        push.to_vec(),
        filled.to_vec(),
        extend.to_vec(),
        padded.to_vec(),
        recycled.to_vec(),
        words.to_vec(),
        parser.to_vec(),
    ]
    .concat()
}

/// A program that uses an allocator. All its memory is freed when it ends.
pub trait Program: 'static {
    /// The number of passes before the measurement.
    const WARM_UP: u64 = 256;

    /// Creates the input.
    fn new() -> Self;

    /// Runs the program once, and returns a number that depends on the result.
    fn run<A: Allocator + Copy>(&self, memory: A, length: usize) -> usize;
}

/// Memory that provides an allocator.
pub trait AllocatorMemory: 'static {
    /// Creates empty memory.
    fn new() -> Self;

    /// Runs a program and then frees its memory.
    fn run<P: Program>(&mut self, program: &P, length: usize) -> usize;

    /// Returns the bytes held after a pass, if the memory counts them.
    #[allow(dead_code, reason = "only the program `collections` prints them")]
    fn held(&self) -> Option<usize>;
}

impl<B: PoolBackend<Context = ()> + pool_facade::HostBackend> AllocatorMemory for Pool<B> {
    fn new() -> Self {
        Self::new(())
    }

    #[inline(always)]
    fn run<P: Program>(&mut self, program: &P, length: usize) -> usize {
        let scope = self.scope();
        program.run(&scope.allocator(), length)
    }

    fn held(&self) -> Option<usize> {
        Some(self.stats().reserved_bytes)
    }
}

impl AllocatorMemory for bump_scope::Bump {
    fn new() -> Self {
        // The scopes of this arena never merge chunks, so it starts with a large one.
        Self::with_size(1 << 20)
    }

    #[inline(always)]
    fn run<P: Program>(&mut self, program: &P, length: usize) -> usize {
        self.scoped(|scope| program.run(&*scope, length))
    }

    fn held(&self) -> Option<usize> {
        Some(self.stats().size())
    }
}

impl AllocatorMemory for bumpalo::Bump {
    fn new() -> Self {
        Self::new()
    }

    #[inline(always)]
    fn run<P: Program>(&mut self, program: &P, length: usize) -> usize {
        let result = program.run(&*self, length);
        self.reset();
        result
    }

    fn held(&self) -> Option<usize> {
        Some(self.allocated_bytes_including_metadata())
    }
}

impl AllocatorMemory for Global {
    fn new() -> Self {
        Self
    }

    #[inline(always)]
    fn run<P: Program>(&mut self, program: &P, length: usize) -> usize {
        program.run(Self, length)
    }

    fn held(&self) -> Option<usize> {
        None
    }
}

/// A program on one kind of memory.
#[derive(Debug)]
pub struct OnMemory<M, P> {
    memory: M,
    program: P,
}

impl<M: AllocatorMemory, P: Program> Work for OnMemory<M, P> {
    const WARM_UP: u64 = P::WARM_UP;

    fn new() -> Self {
        Self { memory: M::new(), program: P::new() }
    }

    #[inline(never)]
    fn run(&mut self, length: usize, _: usize, _: usize) {
        black_box(self.memory.run(&self.program, length));
    }
}

impl<M: AllocatorMemory, P: Program> OnMemory<M, P> {
    /// Returns the bytes held after a pass, if the memory counts them.
    #[allow(dead_code, reason = "only the program `collections` prints them")]
    #[must_use]
    pub fn held(&self) -> Option<usize> {
        self.memory.held()
    }
}

/// Defines programs that have no input.
macro_rules! programs {
    ($($about:literal $name:ident = |$memory:ident, $length:ident| $run:block)+) => {$(
        #[doc = $about]
        #[derive(Debug)]
        pub struct $name;

        impl Program for $name {
            fn new() -> Self {
                Self
            }

            #[inline(always)]
            fn run<A: Allocator + Copy>(&self, $memory: A, $length: usize) -> usize $run
        }
    )+};
}

programs! {
    "Numbers pushed to a vector without capacity."
    Push = |memory, length| {
        let mut numbers = VecIn::new_in(memory);
        (0..length).for_each(|number| numbers.push(number as f64));
        escape(numbers.as_ptr());
        numbers.len()
    }
    "Numbers pushed to a vector that holds them."
    Fill = |memory, length| {
        let mut numbers = VecIn::with_capacity_in(length, memory);
        (0..length).for_each(|number| numbers.push(number as f64));
        escape(numbers.as_ptr());
        numbers.len()
    }
    "A vector that grows by slices."
    ExtendBySlices = |memory, length| {
        let mut numbers = VecIn::new_in(memory);
        (0..4).for_each(|_| numbers.extend_from_slice(&SLICE[..length]));
        escape(numbers.as_ptr());
        numbers.len()
    }
    "Pairs with padding, pushed."
    PushPairs = |memory, length| {
        let mut pairs: VecIn<Padded, A> = VecIn::new_in(memory);
        (0..length).for_each(|number| pairs.push((1, number as u64)));
        escape(pairs.as_ptr());
        pairs.len()
    }
}

static SLICE: [f64; 100] = [1.0; 100];

/// Defines the same programs with the pool's vectors.
macro_rules! on_pools {
    ($($about:literal $name:ident = |$scope:ident, $length:ident| $run:block)+) => {$(
        #[doc = $about]
        #[derive(Debug)]
        pub struct $name<B: PoolBackend = Cpu>(Pool<B>);

        impl<B: PoolBackend<Context = ()> + pool_facade::HostBackend> Work for $name<B> {
            fn new() -> Self {
                Self(Pool::new(()))
            }

            #[inline(never)]
            fn run(&mut self, $length: usize, _: usize, _: usize) {
                let $scope = self.0.scope();
                $run
            }
        }
    )+};
}

on_pools! {
    "Numbers pushed to a vector without capacity."
    PushPool = |scope, length| {
        let mut numbers = scope.acquire_vec(0);
        (0..length).for_each(|number| numbers.push(number as f64));
        escape(numbers.as_ptr());
    }
    "Numbers pushed to a vector that holds them."
    FillPool = |scope, length| {
        let mut numbers = scope.acquire_vec(length);
        (0..length).for_each(|number| numbers.push(number as f64));
        escape(numbers.as_ptr());
    }
    "Numbers pushed to a vector that cannot grow."
    FillFixed = |scope, length| {
        let mut numbers = scope.acquire_fixed_vec(length);
        (0..length).for_each(|number| _ = numbers.push(number as f64));
        escape(numbers.as_ptr());
    }
    "A vector that grows by slices."
    ExtendPool = |scope, length| {
        let mut numbers = scope.acquire_vec(0);
        (0..4).for_each(|_| numbers.extend_from_slice(&SLICE[..length]));
        escape(numbers.as_ptr());
    }
    "Pairs with padding, pushed."
    PushPadded = |scope, length| {
        let mut pairs = scope.acquire_vec::<Padded>(0);
        (0..length).for_each(|number| pairs.push((1, number as u64)));
        escape(pairs.as_ptr());
    }
    "A vector of numbers, and in the next scope numbers in its memory."
    PushThenRecycled = |scope, length| {
        let mut scope = scope;
        {
            let inner = scope.scope();
            let mut numbers = inner.acquire_vec(0);
            (0..length).for_each(|number| numbers.push(number as f64));
            escape(numbers.as_ptr());
        }
        let recycled = scope.acquire::<f64, _>(length);
        escape(&raw const recycled);
    }
    "The same with the scope's allocator, whose memory is marked."
    CollectThenRecycled = |scope, length| {
        let mut scope = scope;
        {
            let inner = scope.scope();
            let memory = inner.allocator();
            let mut numbers = VecIn::new_in(&memory);
            (0..length).for_each(|number| numbers.push(number as f64));
            escape(numbers.as_ptr());
        }
        let recycled = scope.acquire::<f64, _>(length);
        escape(&raw const recycled);
    }
}

/// The hash FNV-1a, which gives the same result in every run, so that instruction counts are
/// comparable.
#[derive(Debug)]
pub struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Self(0xCBF2_9CE4_8422_2325)
    }
}

impl Hasher for Fnv {
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3);
        }
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// Counts the words in a text of 2,000 words in lower case, with about 600 distinct words. The map
/// owns its words.
#[derive(Debug)]
pub struct WordCount {
    text: String,
}

impl Program for WordCount {
    const WARM_UP: u64 = 8;

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a number from 1 to 900"
    )]
    fn new() -> Self {
        let mut random = fastrand::Rng::with_seed(7);
        let mut text = String::new();
        for _ in 0..2000 {
            // Short words are frequent.
            let word = (900.0_f64.powf(random.f64())) as u32;
            for letter in format!("{:x}{}", word.wrapping_mul(0x9E37), word).chars() {
                text.push(if word % 3 == 0 { letter.to_ascii_uppercase() } else { letter });
            }
            text.push(' ');
        }
        Self { text }
    }

    fn run<A: Allocator + Copy>(&self, memory: A, _: usize) -> usize {
        let hasher = BuildHasherDefault::<Fnv>::default();
        let mut counts: HashMap<PoolString<A>, usize, _, A> =
            HashMap::with_hasher_in(hasher, memory);
        for word in self.text.split_ascii_whitespace() {
            let mut lower = PoolString::from_str_in(word, memory);
            lower.make_ascii_lowercase();
            *counts.entry(lower).or_insert(0) += 1;
        }
        let mut sorted = VecIn::with_capacity_in(counts.len(), memory);
        sorted.extend(counts.iter().map(|(word, &count)| (count, &**word)));
        sorted.sort_unstable_by(|a, b| b.cmp(a));
        sorted[0].0 + sorted.len()
    }
}

/// An expression tree.
enum Expression<A: Allocator> {
    Number(f64),
    Negated(BoxIn<Self, A>),
    Both(char, BoxIn<Self, A>, BoxIn<Self, A>),
    Call(PoolString<A>, VecIn<Self, A>),
}

impl<A: Allocator> Expression<A> {
    fn value(&self) -> f64 {
        match self {
            Self::Number(number) => *number,
            Self::Negated(inner) => -inner.value(),
            Self::Both('+', left, right) => left.value() + right.value(),
            Self::Both('-', left, right) => left.value() - right.value(),
            Self::Both(_, left, right) => left.value() * right.value(),
            Self::Call(name, arguments) => {
                let values = arguments.iter().map(Self::value);
                if &**name == "max" { values.fold(f64::MIN, f64::max) } else { values.sum() }
            }
        }
    }
}

/// A recursive-descent parser for sums, products and calls.
struct Parser<'t, A> {
    rest: &'t [u8],
    memory: A,
}

impl<A: Allocator + Copy> Parser<'_, A> {
    fn next_is(&mut self, wanted: u8) -> bool {
        let is = self.rest.first() == Some(&wanted);
        if is {
            self.rest = &self.rest[1..];
        }
        is
    }

    fn sum(&mut self) -> Expression<A> {
        let mut left = self.product();
        while let Some(operator @ (b'+' | b'-')) = self.rest.first().copied() {
            self.rest = &self.rest[1..];
            left = self.both(operator, left, Self::product);
        }
        left
    }

    fn product(&mut self) -> Expression<A> {
        let mut left = self.atom();
        while self.next_is(b'*') {
            left = self.both(b'*', left, Self::atom);
        }
        left
    }

    fn both(
        &mut self,
        operator: u8,
        left: Expression<A>,
        right: fn(&mut Self) -> Expression<A>,
    ) -> Expression<A> {
        let left = BoxIn::new_in(left, self.memory);
        let right = right(self);
        Expression::Both(char::from(operator), left, BoxIn::new_in(right, self.memory))
    }

    fn atom(&mut self) -> Expression<A> {
        if self.next_is(b'-') {
            let inner = self.atom();
            return Expression::Negated(BoxIn::new_in(inner, self.memory));
        }
        if self.next_is(b'(') {
            let inner = self.sum();
            self.next_is(b')');
            return inner;
        }
        let letters = self.rest.iter().take_while(|byte| byte.is_ascii_lowercase()).count();
        let (word, rest) = self.rest.split_at(letters);
        self.rest = rest;
        if word.is_empty() {
            return self.number();
        }
        let mut name = PoolString::new_in(self.memory);
        name.extend(word.iter().map(|&byte| char::from(byte)));
        let mut arguments = VecIn::new_in(self.memory);
        self.next_is(b'(');
        while !self.next_is(b')') {
            arguments.push(self.sum());
            self.next_is(b',');
        }
        Expression::Call(name, arguments)
    }

    fn number(&mut self) -> Expression<A> {
        let mut number = 0.0;
        while let Some(digit) = self.rest.first().filter(|byte| byte.is_ascii_digit()) {
            number = number * 10.0 + f64::from(digit - b'0');
            self.rest = &self.rest[1..];
        }
        Expression::Number(number)
    }
}

/// Parses an expression of about 1,500 nodes, evaluates it, and drops the tree.
#[derive(Debug)]
pub struct Parse {
    source: String,
}

impl Program for Parse {
    const WARM_UP: u64 = 8;

    fn new() -> Self {
        let mut random = fastrand::Rng::with_seed(9);
        let mut source = String::from("1");
        while source.len() < 4000 {
            source.push(['+', '-', '*'][random.usize(..3)]);
            write_expression(&mut source, &mut random, 5);
        }
        Self { source }
    }

    fn run<A: Allocator + Copy>(&self, memory: A, _: usize) -> usize {
        let mut parser = Parser { rest: self.source.as_bytes(), memory };
        let tree = parser.sum();
        assert!(parser.rest.is_empty(), "the source is an expression");
        usize::from(tree.value() > 0.0)
    }
}

fn write_expression(source: &mut String, random: &mut fastrand::Rng, depth: usize) {
    match random.usize(..if depth == 0 { 2 } else { 6 }) {
        0 | 1 => source.push_str(&random.u8(..100).to_string()),
        2 => {
            source.push('-');
            write_expression(source, random, 0);
        }
        3 => {
            source.push_str(["max(", "sum(", "total("][random.usize(..3)]);
            for _ in 0..random.usize(1..6) {
                write_expression(source, random, depth - 1);
                source.push(',');
            }
            source.push(')');
        }
        _ => {
            source.push('(');
            write_expression(source, random, depth - 1);
            source.push(['+', '-', '*'][random.usize(..3)]);
            write_expression(source, random, depth - 1);
            source.push(')');
        }
    }
}
