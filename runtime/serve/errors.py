"""What a client is told when a request fails, in OpenAI's form.

{"error": {"message": "…", "type": "invalid_request_error", "param": "prompt", "code": "context_length_exceeded"}}
"""

from __future__ import annotations

from typing import Any


class ApiError(Exception):
    """One sentence with the way out, and the status that goes with it."""

    def __init__(self, status: int, message: str, param: str | None = None, code: str | None = None) -> None:
        super().__init__(message)
        self.status, self.message, self.param, self.code = status, message, param, code

    def document(self) -> dict[str, Any]:
        """The body of the answer."""
        kind = "server_error" if self.status >= 500 else "rate_limit_error" if self.status == 429 else None
        error = {"message": self.message, "type": kind or "invalid_request_error"}
        return {"error": {**error, "param": self.param, "code": self.code}}


def unavailable(reason: str) -> ApiError:
    """The engine cannot serve: it failed, or it is leaving."""
    return ApiError(503, reason, code="unavailable")
