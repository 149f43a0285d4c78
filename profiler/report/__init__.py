"""From the dataclasses of the analyses to what a person or a script reads."""
