"""Two arms of launches side by side; outputs of two programs; figures of several sources."""
