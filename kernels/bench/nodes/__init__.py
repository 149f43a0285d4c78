"""What a node costs: chains of equal kernels from which nodes are taken while their work stays.

    python -m stepprof.runtime bench nodes -o nodes.json

Node cost is the slope of the untraced wall time of a chain over its number of nodes. The visible gap is the time
between the last stamp of a node's blocks and the first of the next one's, by the GPU's global timer; ramp is what
remains of the cost: start-up and drain inside the time in which a node's blocks run.
"""

from stepprof.kernels.bench.nodes.run import add_node_switches, bench_nodes, show_nodes

__all__ = ["add_node_switches", "bench_nodes", "show_nodes"]
