"""The TypeScript types of the inspector's page are those of the OpenAPI document."""

from lamina.server.app import create_app
from lamina.settings import Settings
from scripts.page_shapes import TARGET, render


def test_the_shapes_of_the_page_are_generated_from_the_openapi_document():
    """Checked without Node; `make page` writes the file again."""
    document = create_app(Settings(database=":memory:")).openapi()
    assert TARGET.read_text("utf-8") == render(document), "run `make page`, and commit web/src/shapes.ts and the page"


def test_a_report_lists_what_verify_found_and_an_error_is_a_problem_of_rfc_9457():
    """They had one name in the document, and the second overwrote the first."""
    schemas = create_app(Settings(database=":memory:")).openapi()["components"]["schemas"]
    assert set(schemas["Problem"]["properties"]) == {"kind", "where", "text", "derived"}
    assert {"type", "title", "status"} <= set(schemas["ProblemDetails"]["properties"])
