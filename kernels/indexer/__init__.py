"""Which compressed rows a query attends to: scores of all rows, the best K, and the table attention reads."""

import torch

from stepprof.kernels.backends import Backend, implementation


def index_logits(
    q: torch.Tensor,
    keys: torch.Tensor,
    weights: torch.Tensor,
    sequences: torch.Tensor,
    visible: torch.Tensor,
    *,
    backend: Backend = "auto",
) -> torch.Tensor:
    """Score of every cache row: sum_h weights[h] · relu(q[h] · key), -inf from `visible` on.

    q [T, Hi, Di]; keys [B, C, Di]; weights [T, Hi] of any float dtype; sequences [T] int64 (the query's sequence);
    visible [T] int64 (how many rows of its sequence a query may see) -> [T, C] float32.
    """
    return implementation("indexer", backend, q).index_logits(q, keys, weights, sequences, visible)


def top_k(logits: torch.Tensor, k: int, *, backend: Backend = "auto") -> torch.Tensor:
    """Rows with the highest scores: [T, C] float32 -> [T, k] int32, best first, -1 where the score is -inf or C < k.

    Equal scores may come in any order.
    """
    return implementation("indexer", backend, logits).top_k(logits, k)


def build_table(
    chosen: torch.Tensor, sequences: torch.Tensor, capacity: int, *, backend: Backend = "auto"
) -> torch.Tensor:
    """Rows of one sequence -> rows of the flat cache: chosen [T, K] int32 -> chosen + sequences · capacity, -1 stays."""
    return implementation("indexer", backend, chosen).build_table(chosen, sequences, capacity)
