"""Gates: a bar written down before the measurement, the launches that answer it, a verdict that cannot be bent."""
