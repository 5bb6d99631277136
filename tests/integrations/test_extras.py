"""An adapter whose framework is not installed says which extra brings it."""

import subprocess
import sys

import pytest

WITHOUT = """
import sys
sys.modules[sys.argv[1]] = None
try:
    __import__(f"lamina.integrations.{sys.argv[2]}")
except ImportError as error:
    print(type(error).__name__, error)
"""


@pytest.mark.parametrize(
    ("module", "adapter", "package", "extra"),
    [
        pytest.param("agents", "openai_agents", "openai-agents", "openai-agents", id="openai-agents"),
        pytest.param("langgraph", "langgraph", "langgraph-checkpoint", "langgraph", id="langgraph"),
        pytest.param("langchain_core", "langchain", "langchain-core", "langchain", id="langchain"),
        pytest.param("anthropic", "anthropic", "anthropic", "anthropic", id="anthropic"),
        pytest.param("llama_index", "llamaindex", "llama-index-core", "llamaindex", id="llamaindex"),
    ],
)
def test_a_missing_framework_is_named_with_its_extra(module, adapter, package, extra):
    done = subprocess.run([sys.executable, "-c", WITHOUT, module, adapter], capture_output=True, text=True, check=True)
    expected = f"MissingExtra {package} is not installed; get it with: pip install 'lamina[{extra}]'"
    assert done.stdout.strip() == expected
