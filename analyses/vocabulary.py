"""The words of the analyses: what an op is for (role), what it does (kind), where it ran (phase).

Each word has one meaning in code, rules, tables and output. Arrays hold a
word's position in its tuple: `ROLES.index("attention")`.
"""

ROLES = (
    "attention",
    "indexer",
    "kv_write",
    "rope",
    "norm",
    "mhc",
    "router",
    "moe_route",
    "expert_gemm",
    "dense_gemm",
    "quant",
    "activation",
    "elementwise",
    "embedding",
    "lm_head",
    "sampling",
    "spec_draft",
    "spec_verify",
    "communication",
    "sidecar_copy",
    "sidecar_gather",
    "sidecar_gemm",
    "sidecar_reduce",
    "combine",
    "wait",
    "copy",
    "memset",
    "infra",
    "unknown",
)
KINDS = (
    "gemm",
    "attention",
    "topk",
    "sort",
    "norm",
    "reduce",
    "quant",
    "elementwise",
    "copy",
    "collective",
    "wait",
    "memset",
    "other",
)
PHASES = ("prefill", "draft", "verify", "accept")

# How a role was found, the surest first; what is called low confidence or vague is `low` alone.
CONFIDENCES = ("user", "label", "high", "neighbour", "medium", "low", "none")

# What the GPU did, as the store codes it.
KERNEL, MEMCPY, MEMSET = range(3)
