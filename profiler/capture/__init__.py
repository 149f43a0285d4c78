"""Recording a program: the collector, nsys, the untraced control, and what the run file says of its making."""
