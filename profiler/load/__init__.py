"""A load test of any OpenAI-compatible server, by real HTTP clients: what a user of it would see.

Clients are threads over the standard library's http.client: a stream is mostly waiting, a thread waits in the
kernel and stamps a piece when it arrives, and the base install needs no HTTP package.
"""
