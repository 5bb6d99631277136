"""The official client for Node through the proxy."""

import fcntl
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.waiting import CEILING

SCRIPT = """
import OpenAI from "openai";
const [baseURL] = process.argv.slice(2);
const headers = {"X-Lamina-User": "alex", "X-Lamina-Session": "s1"};
const client = new OpenAI({baseURL, apiKey: "sk-theirs", defaultHeaders: headers, maxRetries: 2});
const told = {};
const user = (content) => [{role: "user", content}];

const first = await client.chat.completions.create({model: "m", messages: user("I'm Alex. I live in Porto.")});
told.chat = first.choices[0].message.content;

let streamed = "";
for await (const chunk of await client.chat.completions.create({model: "m", messages: user("Count."), stream: true}))
  streamed += chunk.choices[0]?.delta?.content ?? "";
told.stream = streamed;

const tools = [{type: "function", function: {name: "weather", parameters: {type: "object", properties: {}}}}];
const runner = client.chat.completions.stream({model: "m", messages: user("Weather?"), tools});
told.calls = (await runner.finalChatCompletion()).choices[0].message.tool_calls.map((one) => one.function.name);

const format = {type: "json_schema", json_schema: {name: "city", schema: {type: "object"}, strict: false}};
const parsed = await client.chat.completions.parse({model: "m", messages: user("City?"), response_format: format});
told.parsed = JSON.parse(parsed.choices[0].message.content);

told.response = (await client.responses.create({model: "m", input: "And now?"})).output_text;
const events = client.responses.stream({model: "m", input: "Go on."});
told.responseStream = (await events.finalResponse()).output_text;

told.models = [];
for await (const model of client.models.list()) told.models.push(model.id);
try {
  await client.files.list();
} catch (error) {
  told.refused = error.status;
}
console.log(JSON.stringify(told));
"""


@pytest.fixture(scope="module")
def modules() -> Path:
    """A folder with the client; installed once beside the virtual environment."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        pytest.skip("there is no Node here: `apt-get install nodejs npm` gets it")
    folder = Path(sys.prefix) / "node"
    folder.mkdir(exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "node_modules" / "openai" / "package.json").is_file():
            command = [
                npm,
                "install",
                "--no-audit",
                "--no-fund",
                "--loglevel=error",
                "--prefix",
                str(folder),
                "openai@^7",
            ]
            done = subprocess.run(command, check=False, timeout=CEILING, capture_output=True, text=True)
            if done.returncode:
                pytest.skip(f"npm could not get the client: {done.stderr.strip()[:500]}")
    return folder


@pytest.mark.full  # the clients for Python do the same in test_chat.py and test_responses.py
def test_chat_responses_streams_tools_and_parsing(quick, modules):
    quick.says("Hello, Alex.", "One two three.")
    quick.says('{"city": "Porto"}')
    quick.says('{"name": "Porto"}', "Fine.", "One two.")
    script = modules / "talk.mjs"
    script.write_text(SCRIPT, "utf-8")
    command = ["node", str(script), quick.url]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=CEILING)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {
        "chat": "Hello, Alex.",
        "stream": "One two three.",
        "calls": ["weather"],
        "parsed": {"name": "Porto"},
        "response": "Fine.",
        "responseStream": "One two.",
        "models": ["test-model"],
        "refused": 404,
    }
    assert [role for role, _ in quick.said()] == ["user", "assistant"] * 6
    assert "Porto" in json.dumps(quick.sent("responses"))
