"""Structured logs: one JSON object a line, with a stable `action` and no user content."""

import json
import logging
import sys
import traceback
from datetime import UTC, datetime

_STANDARD = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "asctime", "taskName"}


class JsonLines(logging.Formatter):
    """A log record as JSON: time, level, logger, action and whatever the action tells."""

    def format(self, record: logging.LogRecord) -> str:
        extra = {key: value for key, value in record.__dict__.items() if key not in _STANDARD}
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "action": record.getMessage(),
            **extra,
        }
        if record.exc_info:
            line["error"] = _describe(record.exc_info[1])
        return json.dumps(line, ensure_ascii=False, default=str)


def _describe(error: BaseException | None) -> str:
    """The stack and the kind of an error and of its causes, without their texts: they may repeat what a user said."""
    stacks: list[str] = []
    while error is not None:
        stacks.append("".join(traceback.format_tb(error.__traceback__)) + type(error).__name__)
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return "\ncaused by:\n".join(stacks)


def log_to_stderr(level: str) -> None:
    """Write Lamina's logs of this level and above to standard error, and what its driver and its server have to say."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    minimum = logging.getLevelNamesMapping()[level.upper()]
    others = max(minimum, logging.WARNING)
    for name, lowest in (("lamina", minimum), ("psycopg", others), ("mcp", others), ("uvicorn", others)):
        logger = logging.getLogger(name)
        logger.handlers = [handler]
        logger.setLevel(lowest)
        logger.propagate = False
