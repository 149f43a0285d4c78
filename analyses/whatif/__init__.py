"""What proposed changes would really buy: proposals, their edits of the graph, the answer, and its track record."""
