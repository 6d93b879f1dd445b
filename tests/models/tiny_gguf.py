"""A language model of 110 kB that llama.cpp loads in milliseconds: random weights, real server.

Its vocabulary is the 256 bytes, one pair and two marks. What it says is nonsense, but of
printable ASCII and without an end: the first dimension of every embedding is so large that it
comes out of the last norm as a constant, and the output layer turns it into a bias against all
other tokens. So a reply goes on to `max_tokens`, or to the end that a grammar forces.
"""

from __future__ import annotations

import atexit
import functools
import tempfile
from pathlib import Path

import numpy as np
from gguf import GGUFWriter, TokenType

WIDTH, HIDDEN, HEADS, ROOM = 32, 64, 2, 32_768
PAIR, START, END = "th", "<|im_start|>", "<|im_end|>"  # without a pair there is no BPE
TOKENS = 256 + 3
TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m.role }}: {{ m.content }}<|im_end|>{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant: {% endif %}"
)


@functools.cache
def tiny_gguf() -> Path:
    """Made once for a process of tests, and removed with it."""
    folder = tempfile.TemporaryDirectory(prefix="tiny-gguf-")
    atexit.register(folder.cleanup)
    return make_tiny_gguf(Path(folder.name) / "tiny.gguf")


def make_tiny_gguf(path: Path) -> Path:
    writer = GGUFWriter(path, "llama")
    _add_shape(writer)
    _add_vocabulary(writer)
    _add_weights(writer)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def _add_shape(writer: GGUFWriter) -> None:
    writer.add_name("tiny")
    writer.add_context_length(ROOM)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(1)
    writer.add_feed_forward_length(HIDDEN)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(WIDTH // HEADS)


def _add_vocabulary(writer: GGUFWriter) -> None:
    tokens = [*_byte_letters(), PAIR, START, END]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(tokens)
    writer.add_token_types([TokenType.NORMAL] * 257 + [TokenType.CONTROL] * 2)
    writer.add_token_merges([" ".join(PAIR)])
    writer.add_bos_token_id(tokens.index(START))
    writer.add_eos_token_id(tokens.index(END))
    writer.add_add_bos_token(False)
    writer.add_chat_template(TEMPLATE)


def _byte_letters() -> list[str]:
    """GPT-2's letter for each byte: its own if it can be printed, else one from 256 on."""
    printable = {*range(33, 127), *range(161, 173), *range(174, 256)}
    others = iter(range(256, 512))
    return [chr(byte if byte in printable else next(others)) for byte in range(256)]


def _add_weights(writer: GGUFWriter) -> None:
    chance = np.random.default_rng(7)

    def add(name: str, *shape: int) -> None:
        writer.add_tensor(name, chance.normal(0, 0.2, shape).astype(np.float32))

    def add_ones(name: str) -> None:
        writer.add_tensor(name, np.ones(WIDTH, np.float32))

    embedding = chance.normal(0, 1, (TOKENS, WIDTH)).astype(np.float32)
    embedding[:, 0] = 8.0
    writer.add_tensor("token_embd.weight", embedding)
    output = chance.normal(0, 0.5, (TOKENS, WIDTH)).astype(np.float32)
    output[:, 0] = [0.0 if 32 <= token < 127 else -50.0 for token in range(TOKENS)]
    writer.add_tensor("output.weight", output)
    add_ones("output_norm.weight")
    add_ones("blk.0.attn_norm.weight")
    add_ones("blk.0.ffn_norm.weight")
    for part in ("q", "k", "v", "output"):
        add(f"blk.0.attn_{part}.weight", WIDTH, WIDTH)
    add("blk.0.ffn_gate.weight", HIDDEN, WIDTH)
    add("blk.0.ffn_up.weight", HIDDEN, WIDTH)
    add("blk.0.ffn_down.weight", WIDTH, HIDDEN)
