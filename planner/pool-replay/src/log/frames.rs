//! Stacks of frames. Each stack is stored only once.

use std::collections::HashMap;
use std::rc::Rc;

/// The number of a stack in its [`Frames`]. The default is the empty stack.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub(crate) struct Stack(u32);

/// The number of a text in its [`Frames`].
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(super) struct Text(pub(super) u32);

/// A function on the call stack, and the position in its source.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(crate) struct Frame {
    pub(super) filename: Text,
    pub(super) line: i64,
    pub(super) name: Text,
}

/// The stacks of a log, and the texts in them. A stack starts with its innermost frame.
#[derive(Debug)]
pub(crate) struct Frames {
    texts: Vec<Rc<str>>,
    numbers: HashMap<Rc<str>, Text>,
    stacks: Vec<Rc<[Frame]>>,
    stack_numbers: HashMap<Rc<[Frame]>, Stack>,
}

impl Frames {
    /// Contains no stack except the empty one.
    pub(crate) fn new() -> Self {
        let empty: Rc<[Frame]> = Rc::from([]);
        let stack_numbers = HashMap::from([(Rc::clone(&empty), Stack::default())]);
        Self { texts: Vec::new(), numbers: HashMap::new(), stacks: vec![empty], stack_numbers }
    }

    /// Returns the number of a text. Adds the text if it is new.
    pub(super) fn text(&mut self, text: &str) -> Text {
        if let Some(&number) = self.numbers.get(text) {
            return number;
        }
        let number = Text(u32::try_from(self.texts.len()).unwrap_or(u32::MAX));
        let text: Rc<str> = text.into();
        self.texts.push(Rc::clone(&text));
        self.numbers.insert(text, number);
        number
    }

    /// Returns the text with a number.
    pub(super) fn text_of(&self, text: Text) -> &str {
        usize::try_from(text.0).ok().and_then(|at| self.texts.get(at)).map_or("", |text| text)
    }

    /// Returns the number of a stack. Adds the stack if it is new.
    pub(super) fn stack(&mut self, frames: &[Frame]) -> Stack {
        if let Some(&number) = self.stack_numbers.get(frames) {
            return number;
        }
        let number = Stack(u32::try_from(self.stacks.len()).unwrap_or(u32::MAX));
        let frames: Rc<[Frame]> = frames.into();
        self.stacks.push(Rc::clone(&frames));
        self.stack_numbers.insert(frames, number);
        number
    }

    /// Returns the innermost frame of a stack that has a line in a file. If there is no such frame,
    /// returns PyTorch's innermost operator, or else the innermost frame. The stacks of PyTorch
    /// start with its own unwinder and allocator.
    pub(crate) fn owner(&self, stack: Stack) -> Option<(&str, i64, &str)> {
        let mut frames = self.frames(stack);
        let operator = |&(_, _, name): &(&str, i64, &str)| name.starts_with("at::_ops::");
        frames
            .find(|&(_, line, _)| line > 0)
            .or_else(|| self.frames(stack).find(operator))
            .or_else(|| self.frames(stack).next())
    }

    /// Returns the file, the line and the function of a frame.
    pub(crate) fn texts_of(&self, frame: &Frame) -> (&str, i64, &str) {
        (self.text_of(frame.filename), frame.line, self.text_of(frame.name))
    }

    /// Returns the frames of a stack, which refer to their texts by number.
    pub(crate) fn frames_of(&self, stack: Stack) -> &[Frame] {
        usize::try_from(stack.0).ok().and_then(|at| self.stacks.get(at)).map_or(&[], |one| one)
    }

    /// Returns the frames of a stack as file, line and function.
    pub(crate) fn frames(&self, stack: Stack) -> impl Iterator<Item = (&str, i64, &str)> {
        self.frames_of(stack)
            .iter()
            .map(|frame| (self.text_of(frame.filename), frame.line, self.text_of(frame.name)))
    }

    /// Returns the number of texts.
    pub(super) fn texts(&self) -> usize {
        self.texts.len()
    }
}
