"""Every feature of the five documents has a test, and the page that lists them is true."""

import pytest

from scripts.document_tests import TESTS, features, page

FEATURES = {"000": 14, "001": 26, "002": 16, "003": 14, "004": 14}


@pytest.fixture(scope="module")
def found():
    return {(document, feature) for document, feature, *_ in features()}


@pytest.mark.parametrize("document", FEATURES)
def test_every_feature_has_a_test(document, found):
    assert {feature for one, feature in found if one == document} == set(range(1, FEATURES[document] + 1))


def test_the_page_lists_them():
    listed = (TESTS.parent / "docs" / "documents.md").read_text("utf-8")
    assert listed == page(), "make it anew: python -m scripts.document_tests > docs/documents.md"
