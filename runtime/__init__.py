"""The model under study: speculative decoding of a mixture-of-experts model on one card, or on two.

A program whose truth is known: every op opens the range that says what it is for, and switches
make real changes. Start it with `python -m stepprof.runtime run --preset tiny --steps 8`.
"""
