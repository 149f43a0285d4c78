"""Samples of a graph of calls: the inputs live as long as the graph, whoever made the calls."""

import gc

import pytest
import torch

from stepprof.kernels.bench.sampler import InGraph


@pytest.mark.gpu
def test_inputs_live_as_long_as_the_graph():
    def made() -> InGraph:
        inputs = [torch.full((1 << 22,), float(i), device="cuda") for i in range(4)]
        return InGraph([lambda x=x: x.sum() for x in inputs])

    graph = made()
    gc.collect()
    torch.cuda.empty_cache()
    torch.zeros(1 << 24, device="cuda").fill_(7)  # would take the place of inputs that were given back
    assert graph.sample(0) > 0
    assert [float(result) for result in graph.results] == [float(i << 22) for i in range(4)]
