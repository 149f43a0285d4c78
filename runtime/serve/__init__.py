"""`python -m stepprof.runtime serve`: the model behind OpenAI's completions interface, on 127.0.0.1 only.

    command -> server -> app -> body -> flight -> roster -> worker -> text -> answers

One thread, `worker`, owns the engine. A prompt waits in the `roster`; at a step boundary with a free slot the first
one is read whole and joins the batch; it leaves with its last token or a stop string, and at the boundary after its
client's departure. Nothing here imports fastapi but `app`, `flight`, `server`.
"""
