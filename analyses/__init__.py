"""Questions asked of a stored run: each module answers one."""
