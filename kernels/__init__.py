"""GPU ops of the model under study: one folder an op, each kernel beside its truth.

    kernels/<op>/__init__.py    the public functions, with shapes; they choose the backend
    kernels/<op>/reference.py   the shortest true statement in torch, computed in float32
    kernels/<op>/kernel.py      the same functions for the GPU

Letters in shapes: T rows of a step, B sequences, D hidden width, S hyper-connection
streams, H heads, C slots of a cache, K table width, E experts, A experts of a row,
I expert width, V vocabulary.
"""
