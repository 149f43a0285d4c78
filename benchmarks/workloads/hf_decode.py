"""A compiled Hugging Face decode: a small DeepSeek-V3 with random weights, a static cache, torch.compile; no download."""

from __future__ import annotations

import argparse
import sys
from importlib import import_module
from typing import Any

import torch
from steps import Part, add_switches, run_steps

PROMPT, CACHE = 64, 1024  # tokens
SHAPES = {
    "vocab_size": 32000, "hidden_size": 1024, "intermediate_size": 2816, "moe_intermediate_size": 512,
    "num_attention_heads": 16, "num_key_value_heads": 16, "n_routed_experts": 32, "num_experts_per_tok": 4,
    "n_shared_experts": 1, "n_group": 4, "topk_group": 2, "first_k_dense_replace": 1, "q_lora_rank": 384,
    "kv_lora_rank": 256, "qk_rope_head_dim": 64, "qk_nope_head_dim": 64, "v_head_dim": 64,
    "max_position_embeddings": 2048,
}  # fmt: skip


class Decode:
    """One token a step, greedily."""

    def __init__(self, layers: int) -> None:
        transformers: Any = import_module("transformers")

        torch.manual_seed(0)
        config = transformers.AutoConfig.for_model("deepseek_v3", num_hidden_layers=layers, **SHAPES)
        model: Any = transformers.AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16).cuda().eval()
        self.cache: Any = transformers.StaticCache(config=model.config, max_cache_len=CACHE)
        self.forward, self.position = model.forward, 0
        prompt = torch.randint(0, SHAPES["vocab_size"], (1, PROMPT), device="cuda")
        self.token = self._next(prompt)
        self.forward = torch.compile(model.forward, mode="reduce-overhead", fullgraph=False)
        self.events = [torch.cuda.Event(enable_timing=True) for _ in range(2)]

    def step(self) -> None:
        """The next token; when the cache is full, from behind the prompt again."""
        if self.position >= CACHE:
            self.position = PROMPT
        self.events[0].record()
        self.token = self._next(self.token)
        self.events[1].record()

    def span_ms(self) -> float:
        """Of the latest step."""
        return self.events[0].elapsed_time(self.events[1])

    def _next(self, tokens: torch.Tensor) -> torch.Tensor:
        count = tokens.shape[1]
        at = torch.arange(self.position, self.position + count, device="cuda")
        with torch.no_grad():
            out = self.forward(input_ids=tokens, past_key_values=self.cache, cache_position=at, use_cache=True)
        self.position += count
        return out.logits[:, -1:].argmax(-1).clone()


def main() -> None:
    """Build, compile in the warm-up, time."""
    parser = argparse.ArgumentParser(description=__doc__)
    add_switches(parser)
    parser.add_argument("--layers", type=int, default=4)
    given = parser.parse_args()
    if not torch.cuda.is_available():
        sys.exit("the compiled decode needs an NVIDIA GPU, and torch sees none here.")
    try:
        decode = Decode(given.layers)
    except ImportError as fault:
        sys.exit(f"the compiled decode needs transformers ({fault}): pip install transformers.")
    run_steps("hf_decode", [Part("hf_decode", decode.step, decode.span_ms, "step")], given)


if __name__ == "__main__":
    main()
