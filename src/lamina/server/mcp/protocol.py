"""The protocol over the handlers: lists, calls and pages, errors in our words."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import mcp_types as types
from mcp.server import Server
from mcp.shared.exceptions import MCPError

from lamina import __version__
from lamina.errors import LaminaError
from lamina.server.mcp.handlers import PROFILE, SESSION, ToolHandlers
from lamina.server.mcp.results import visible
from lamina.server.mcp.schemas import read_arguments
from lamina.server.mcp.tools import INSTRUCTIONS, ToolSpec, tools_for
from lamina.server.problems import error_detail, is_internal

logger = logging.getLogger("lamina.mcp")

_MARKDOWN = "text/markdown"
_MAX_REASON = 2000  # characters; it may repeat what was given
_TEMPLATES = (
    types.ResourceTemplate(
        name="profile",
        title="Profile of a user",
        uri_template=f"{PROFILE}{{user}}",
        description="What is known of a user, by category, as markdown.",
        mime_type=_MARKDOWN,
    ),
    types.ResourceTemplate(
        name="session",
        title="A conversation",
        uri_template=f"{SESSION}{{id}}",
        description="Summaries, facts and newest messages of a conversation, as markdown.",
        mime_type=_MARKDOWN,
    ),
)


def server_for(handlers: ToolHandlers) -> Server[Any]:
    """A server that offers the tools and pages of the handlers."""
    protocol = _Protocol(handlers)
    server: Server[Any] = Server(
        "lamina",
        title="Lamina",
        description="Layered memory for conversations with language models.",
        version=__version__,
        instructions=INSTRUCTIONS,
        on_list_tools=protocol.list_tools,
        on_call_tool=protocol.call_tool,
        on_list_resources=protocol.list_resources,
        on_list_resource_templates=protocol.list_templates,
        on_read_resource=protocol.read_resource,
    )
    server.middleware.clear()  # its spans have the words of errors; what the tools do has spans of our own
    return server


class _Protocol:
    """Requests of the protocol."""

    def __init__(self, handlers: ToolHandlers) -> None:
        self._handlers = handlers
        self._tools = tools_for(any_user=handlers.any_user, role=handlers.role)

    async def list_tools(self, _context: Any, _params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[_as_tool(spec) for spec in self._tools.values()])

    async def call_tool(self, _context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        spec = self._tools.get(params.name)
        if spec is None:
            names = ", ".join(self._tools)
            raise MCPError(types.INVALID_PARAMS, f"no tool {params.name!r:.80}; there are {names}")
        try:
            answer = await self._handlers.call(spec.name, read_arguments(spec.input, params.arguments or {}))
        except LaminaError as error:
            return _error_result(_detail(spec.name, error))
        except Exception as error:  # noqa: BLE001 - whatever it is, the client gets a sentence, not a trace
            return _error_result(_internal_error(spec.name, error))
        return types.CallToolResult(
            content=[types.TextContent(type="text", text=answer.text)], structured_content=answer.data
        )

    async def list_resources(self, _context: Any, _params: Any) -> types.ListResourcesResult:
        with _protocol_errors("resources/list"):
            listed = await self._handlers.pages()
        return types.ListResourcesResult(
            resources=[
                types.Resource(uri=address, name=title, title=title, mime_type=_MARKDOWN) for address, title in listed
            ]
        )

    async def list_templates(self, _context: Any, _params: Any) -> types.ListResourceTemplatesResult:
        return types.ListResourceTemplatesResult(resource_templates=list(_TEMPLATES))

    async def read_resource(self, _context: Any, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        with _protocol_errors("resources/read", {"uri": params.uri}):
            text = await self._handlers.page(params.uri)
        return types.ReadResourceResult(
            contents=[types.TextResourceContents(uri=params.uri, mime_type=_MARKDOWN, text=text)]
        )


@contextmanager
def _protocol_errors(asked: str, about: dict[str, str] | None = None) -> Iterator[None]:
    """Errors as those of the protocol, each with a sentence, and with what it is about."""
    try:
        yield
    except LaminaError as error:
        raise MCPError(types.INVALID_PARAMS, visible(_detail(asked, error)), about) from None
    except Exception as error:  # noqa: BLE001 - as for tools
        raise MCPError(types.INTERNAL_ERROR, _internal_error(asked, error), about) from None


def _detail(asked: str, error: LaminaError) -> str:
    """An error in words for the caller; what tells of the machine goes to the log."""
    if is_internal(error):
        extra = {"tool": asked, "kind": type(error).__name__, "reason": str(error)[:500]}
        logger.warning("tool_unavailable", extra=extra)
    return error_detail(error)


def _internal_error(asked: str, error: Exception) -> str:
    """Log the kind of an error that is not ours; its text might repeat what a user said."""
    logger.error("tool_failed", extra={"tool": asked, "error": type(error).__name__})
    return f"{asked} failed inside the memory ({type(error).__name__})"


def _as_tool(spec: ToolSpec) -> types.Tool:
    return types.Tool(
        name=spec.name,
        title=spec.title,
        description=spec.about,
        input_schema=spec.input_schema,
        output_schema=spec.output_schema,
        annotations=types.ToolAnnotations(
            title=spec.title,
            read_only_hint=spec.reads,
            destructive_hint=spec.destroys,
            idempotent_hint=spec.repeatable,
            open_world_hint=False,
        ),
    )


def _error_result(reason: str) -> types.CallToolResult:
    content = types.TextContent(type="text", text=visible(reason[:_MAX_REASON]))
    return types.CallToolResult(content=[content], is_error=True)
