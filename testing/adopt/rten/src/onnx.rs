//! Encodes a model in the ONNX format, which is a message of Protocol Buffers.

/// A message: its fields in the order in which they were added.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    fn int(mut self, field: u64, value: u64) -> Self {
        self.varint(field << 3);
        self.varint(value);
        self
    }

    fn ints(self, field: u64, values: &[usize]) -> Self {
        values.iter().fold(self, |message, &value| message.int(field, value as u64))
    }

    fn float(mut self, field: u64, value: f32) -> Self {
        self.varint(field << 3 | 5);
        self.0.extend(value.to_le_bytes());
        self
    }

    fn bytes(mut self, field: u64, value: impl AsRef<[u8]>) -> Self {
        self.varint(field << 3 | 2);
        self.varint(value.as_ref().len() as u64);
        self.0.extend(value.as_ref());
        self
    }

    fn message(self, field: u64, value: &Self) -> Self {
        self.bytes(field, &value.0)
    }
}

/// The value of an operator's attribute.
pub enum Attribute<'a> {
    Int(u64),
    Ints(&'a [usize]),
    Float(f32),
}

/// A model whose last operator returns the output.
pub struct Model {
    graph: Message,
    names: usize,
    random: u32,
}

/// The element type `f32`.
const FLOAT: u64 = 1;
/// The element type `i64`.
const INT64: u64 = 7;

impl Model {
    /// Creates a model with the input `x`, whose elements are `f32`.
    pub fn new(input_shape: &[usize]) -> Self {
        let graph = Message::default().bytes(2, "graph").message(11, &value("x", input_shape));
        Self { graph, names: 0, random: 1 }
    }

    fn name(&mut self) -> String {
        self.names += 1;
        format!("v{}", self.names)
    }

    fn graph(&mut self, field: u64, value: &Message) {
        self.graph = std::mem::take(&mut self.graph).message(field, value);
    }

    fn tensor(&mut self, kind: u64, shape: &[usize], bytes: Vec<u8>) -> String {
        let name = self.name();
        let tensor = Message::default().ints(1, shape).int(2, kind).bytes(8, &name);
        self.graph(5, &tensor.bytes(9, bytes));
        name
    }

    /// Adds a constant whose elements are pseudorandom, and about as large as those of trained
    /// weights.
    pub fn weights(&mut self, shape: &[usize]) -> String {
        let inputs: usize = shape.iter().skip(1).product();
        let scale = (3.0 / inputs as f32).sqrt();
        let bytes = (0..shape.iter().product()).flat_map(|_| {
            self.random = self.random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let number = (self.random >> 8) as f32 / (1 << 23) as f32 - 1.0;
            (number * scale).to_le_bytes()
        });
        let bytes = bytes.collect();
        self.tensor(FLOAT, shape, bytes)
    }

    /// Adds a constant vector of integers.
    pub fn integers(&mut self, values: &[usize]) -> String {
        let bytes = values.iter().flat_map(|&value| (value as u64).to_le_bytes()).collect();
        self.tensor(INT64, &[values.len()], bytes)
    }

    /// Adds an operator and returns the name of its output.
    pub fn operator(
        &mut self,
        kind: &str,
        inputs: &[&str],
        attributes: &[(&str, Attribute<'_>)],
    ) -> String {
        let output = self.name();
        let node = Message::default();
        let node = inputs.iter().fold(node, |node, input| node.bytes(1, input));
        let node = node.bytes(2, &output).bytes(3, &output).bytes(4, kind);
        let node = attributes.iter().fold(node, |node, (name, value)| {
            let attribute = Message::default().bytes(1, name);
            let attribute = match value {
                Attribute::Float(value) => attribute.float(2, *value).int(20, 1),
                Attribute::Int(value) => attribute.int(3, *value).int(20, 2),
                Attribute::Ints(values) => attribute.ints(8, values).int(20, 7),
            };
            node.message(5, &attribute)
        });
        self.graph(1, &node);
        output
    }

    /// Returns the model as a file.
    pub fn file(mut self, output: &str, output_shape: &[usize]) -> Vec<u8> {
        self.graph(12, &value(output, output_shape));
        let operators = Message::default().int(2, 17);
        Message::default().int(1, 8).message(7, &self.graph).message(8, &operators).0
    }
}

/// Describes an input or output.
fn value(name: &str, shape: &[usize]) -> Message {
    let dimensions = shape.iter().fold(Message::default(), |shape, &size| {
        shape.message(1, &Message::default().int(1, size as u64))
    });
    let tensor = Message::default().int(1, FLOAT).message(2, &dimensions);
    Message::default().bytes(1, name).message(2, &Message::default().message(1, &tensor))
}
