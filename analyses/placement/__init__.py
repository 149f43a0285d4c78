"""Which cold experts to move to the main card, and what moving them costs."""
