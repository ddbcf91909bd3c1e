//! A model's directory, as `sentence-transformers` writes it: `config.json`, `tokenizer.json` and `model.safetensors`.

use std::borrow::Cow;
use std::fs::File;
use std::path::Path;

use memmap2::Mmap;
use safetensors::Dtype;
use safetensors::tensor::{Metadata, SafeTensors};
use serde::Deserialize;
use tokenizers::{Tokenizer, TruncationParams};

use crate::algebra::Failure;
use crate::model::{Configuration, Tensor, Tensors};

/// A model that was read from files.
#[derive(Debug)]
pub struct Directory {
    configuration: Configuration,
    tokenizer: Tokenizer,
    file: Mmap,
    /// The positions of the tensors among the file's last bytes.
    tensors: Metadata,
    /// The first of those bytes.
    start: usize,
}

/// The needed part of `config.json`.
#[derive(Deserialize)]
struct Config {
    vocab_size: usize,
    max_position_embeddings: usize,
    type_vocab_size: usize,
    hidden_size: usize,
    num_attention_heads: usize,
    intermediate_size: usize,
    num_hidden_layers: usize,
    layer_norm_eps: f32,
    hidden_act: String,
}

impl Directory {
    /// Opens a directory, to encode sentences of at most `tokens` tokens. The weights are read on
    /// use.
    ///
    /// # Errors
    ///
    /// Fails if a file is missing or malformed, or if the model is of another kind.
    pub fn open(path: &Path, tokens: usize) -> Result<Self, Failure> {
        let open = |name: &str| {
            let path = path.join(name);
            File::open(&path).map_err(|error| format!("{}: {error}", path.display()))
        };
        let config: Config = serde_json::from_reader(open("config.json")?)?;
        if config.hidden_act != "gelu" {
            let of = config.hidden_act;
            return Err(format!("the model's activation is {of}; this encoder has gelu").into());
        }
        let tokenizer = Tokenizer::from_file(path.join("tokenizer.json"));
        let mut tokenizer = tokenizer.map_err(|error| error.to_string())?;
        let cut = TruncationParams { max_length: tokens, ..Default::default() };
        tokenizer.with_padding(None);
        tokenizer.with_truncation(Some(cut)).map_err(|error| error.to_string())?;
        let weights = open("model.safetensors")?;
        // SAFETY: a model's file should not be written while it is used; `memmap2` requires this
        // because no operating system guarantees it.
        let file = unsafe { Mmap::map(&weights) }?;
        let (header, tensors) = SafeTensors::read_metadata(&file)?;
        // Its length is written before it.
        let start = size_of::<u64>() + header;
        let configuration = Configuration {
            words: config.vocab_size,
            positions: config.max_position_embeddings,
            kinds: config.type_vocab_size,
            hidden: config.hidden_size,
            heads: config.num_attention_heads,
            inner: config.intermediate_size,
            layers: config.num_hidden_layers,
            epsilon: config.layer_norm_eps,
        };
        Ok(Self { configuration, tokenizer, file, tensors, start })
    }

    /// Returns the sizes of the model.
    #[must_use]
    pub fn configuration(&self) -> Configuration {
        self.configuration
    }

    /// Returns the words of a text, with the start and end tokens; words beyond the maximum number
    /// of tokens are cut off.
    ///
    /// # Errors
    ///
    /// Fails if the tokenizer refuses the text.
    pub fn words(&self, text: &str) -> Result<Vec<u32>, Failure> {
        let encoding = self.tokenizer.encode(text, true).map_err(|error| error.to_string())?;
        Ok(encoding.get_ids().to_vec())
    }
}

impl Tensors for Directory {
    fn numbers(&self, tensor: &Tensor) -> Result<Cow<'_, [f32]>, Failure> {
        let name = &tensor.name;
        let found = self.tensors.info(name).ok_or_else(|| format!("there is no {name}"))?;
        if found.dtype != Dtype::F32 {
            return Err(format!("{name} has the type {:?} instead of F32", found.dtype).into());
        }
        let (start, end) = found.data_offsets;
        let bytes = self.file.get(self.start + start..self.start + end);
        let bytes = bytes.ok_or_else(|| format!("the file ends before {name} does"))?;
        let numbers = bytes.chunks_exact(size_of::<f32>());
        let number = |bytes: &[u8]| bytes.try_into().map(f32::from_le_bytes);
        Ok(numbers.map(number).collect::<Result<Vec<_>, _>>()?.into())
    }
}
