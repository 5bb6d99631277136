"""Three doors into a memory: a demo, a chat, and a history that is brought along."""

import io
import json
import random
import re
import zipfile
from typing import Any
from urllib.parse import quote

import pytest
from playwright.sync_api import expect

from tests.inspector.browser import PHONE
from tests.inspector.memories import ENDLESS, USER
from tests.inspector.service import ask, post, read
from tests.waiting import wait_until

pytestmark = pytest.mark.xdist_group("browser")  # one worker has the browser, and makes each memory once

TOLD = ("I'm Dara. I live in Ghent.", "Noted, Dara.", "I moved to Porto.", "Congratulations!")
DROP = """([target, files]) => {
  const data = new DataTransfer();
  for (const [name, text] of files) data.items.add(new File([text], name));
  for (const type of ["dragover", "drop"]) {
    target.dispatchEvent(new DragEvent(type, { dataTransfer: data, bubbles: true, cancelable: true }));
  }
}"""


def chatgpt():
    """An export of ChatGPT: one conversation."""
    nodes: dict[str, Any] = {"root": {"id": "root", "parent": None, "children": ["n0"], "message": None}}
    for number, words in enumerate(TOLD):
        nodes[f"n{number}"] = {
            "id": f"n{number}",
            "parent": f"n{number - 1}" if number else "root",
            "children": [f"n{number + 1}"] if number + 1 < len(TOLD) else [],
            "message": {
                "id": f"n{number}",
                "author": {"role": "assistant" if number % 2 else "user"},
                "create_time": 1_753_500_000 + number * 60,
                "content": {"content_type": "text", "parts": [words]},
            },
        }
    last = f"n{len(TOLD) - 1}"
    talk = {
        "title": "Moving house",
        "conversation_id": "c1",
        "create_time": 1_753_500_000,
        "update_time": 1_753_501_000,
    }
    return json.dumps([{**talk, "mapping": nodes, "current_node": last}])


def drop(page, *files, at=None):
    """Drop files, each a name and its text, at a place or where the page asks for them."""
    target = at or page.get_by_test_id("drop")
    expect(target).to_be_visible()
    page.evaluate(DROP, [target.element_handle(), files])


def name_owner(page, owner):
    """Say whose history it is, where the file does not."""
    page.get_by_text("Whose history it is").click()
    page.get_by_label("Name of the user").fill(owner)


def choose(page, name, body):
    page.get_by_label("Files to import").set_input_files({"name": name, "mimeType": "x/y", "buffer": body})


@pytest.mark.parametrize("screen", ["timeline", "context", "facts", "search"])
def test_an_empty_memory_opens_on_three_doors(page_at, nothing, screen):
    page = page_at(nothing, screen, width=PHONE)
    expect(page.get_by_role("heading", name="This memory is empty")).to_be_visible()
    for door in ("demo", "talk", "import"):
        expect(page.get_by_test_id(f"door-{door}")).to_be_visible()
    expect(page.locator("main [role=alert]")).to_have_count(0)


def test_the_demo_loads_with_progress_and_shows_the_long_session(page_at, empty):
    """What is seen first is the picture of the README: the layers of 758 messages. A second time adds nothing."""
    page = page_at(empty, "timeline")
    page.get_by_role("button", name="Load the demo").click()
    expect(page.get_by_test_id("door-demo").get_by_role("progressbar")).to_be_visible()
    expect(page).to_have_url(re.compile(f"#/timeline/{ENDLESS}/{ENDLESS}$"))
    expect(page.get_by_test_id("strata")).to_contain_text("Layer 2")
    expect(page.locator("main")).to_contain_text("758")
    assert sum(one["counters"]["messages"] for one in read(empty, "sessions", user_id=USER)["items"]) == 758
    page.get_by_role("link", name="Import").click()
    expect(page.get_by_role("heading", name="Add to this memory")).to_be_visible()
    page.get_by_role("button", name="Load the demo").click()
    expect(page).to_have_url(re.compile(f"#/timeline/{ENDLESS}/{ENDLESS}$"))
    assert read(empty, "stats")["messages"] == 2 * 758


def test_a_reload_does_not_end_the_loading_of_the_demo(page_at, empty):
    """The page finds it again and goes where it would have gone, or it was done meanwhile."""
    page = page_at(empty, "start")
    page.get_by_role("button", name="Load the demo").click()
    expect(page.get_by_test_id("door-demo").get_by_role("progressbar")).to_be_visible()
    page.reload()
    there = page.get_by_test_id("strata").or_(page.get_by_role("heading", name="Add to this memory"))
    expect(there.first).to_be_visible()
    wait_until(lambda: read(empty, "jobs")["items"][0]["status"] == "done", "the demo is loaded")
    assert read(empty, "stats")["messages"] == 2 * 758


def test_what_cannot_be_loaded_says_why(page_at, empty):
    """A user of the demo's name has other sessions: they are not mixed."""
    post(empty, "sessions/diary/messages", user_id=USER, messages="Mine.")
    page = page_at(empty, "start")
    page.get_by_role("button", name="Load the demo").click()
    expect(page.get_by_test_id("door-demo").get_by_role("alert")).to_contain_text("there is a user 'mara' already")
    expect(page.get_by_role("button", name="Load the demo")).to_be_visible()


def test_the_second_door_leads_to_the_chat(page_at, nothing):
    page = page_at(nothing, "timeline")
    page.get_by_role("link", name="Open the chat").click()
    expect(page.get_by_label("Your message")).to_be_visible()


def test_a_dropped_export_of_chatgpt_is_imported(page_at, empty):
    """What came in is told in words, with the ways to look at it; a second time adds nothing."""
    page = page_at(empty, "timeline")
    expect(page.get_by_test_id("door-import")).to_contain_text("up to 32 MB each")
    name_owner(page, "dara")
    drop(page, ("conversations.json", chatgpt()))
    expect(page.get_by_test_id("file")).to_contain_text("4 messages in 1 conversation came in.")
    drop(page, ("conversations.json", chatgpt()))
    expect(page.get_by_test_id("file")).to_contain_text("Nothing new came in. 4 messages were here already.")
    page.get_by_test_id("imported").get_by_role("link", name="Timeline").click()
    expect(page.get_by_test_id("messages")).to_contain_text("I moved to Porto.")
    assert read(empty, "users")["items"] == ["dara"]


def test_what_is_dropped_beside_the_door_is_taken_too(page_at, empty):
    """The browser would leave the page for it. The headline then no longer says that the memory is empty."""
    page = page_at(empty, "timeline")
    drop(page, ("conversations.json", chatgpt()), at=page.get_by_role("heading", name="This memory is empty"))
    expect(page.get_by_test_id("file")).to_contain_text("4 messages in 1 conversation came in.")
    expect(page.get_by_role("heading", name="Add to this memory")).to_be_visible()


def test_where_there_are_several_users_the_page_asks_whose_history_it_is(page_at, empty):
    """Once for all files that name nobody; the way on then leads to that user."""
    for user in ("anna", "bert"):
        post(empty, f"sessions/of-{user}/messages", user_id=user, messages="Hello.")
    page = page_at(empty, "start")
    drop(page, ("conversations.json", chatgpt()), ("again.json", chatgpt()))
    asked = page.get_by_test_id("whose")
    expect(asked).to_have_count(2)
    asked.first.get_by_label("Which user gets it?").fill("dara")
    asked.first.get_by_role("button", name="Import it").click()
    expect(page.get_by_test_id("file").first).to_contain_text("4 messages in 1 conversation came in.")
    expect(page.get_by_test_id("file").last).to_contain_text("4 messages were here already.")
    page.get_by_test_id("imported").get_by_role("link", name="You, as Lamina knows you").click()
    expect(page).to_have_url(re.compile("#/you/dara$"))


def test_doors_are_of_one_height_and_their_buttons_in_one_line(page_at, nothing):
    page = page_at(nothing, "start")
    expect(page.locator(".door")).to_have_count(3)
    for inner in (".door", ".door .foot"):
        bottoms = page.locator(inner).evaluate_all("all => all.map(one => one.getBoundingClientRect().bottom)")
        assert max(bottoms) - min(bottoms) < 1


def test_files_are_imported_one_after_the_other_and_each_says_what_became_of_it(page_at, empty):
    """An unreadable one names what would work, and does not stop the others."""
    page = page_at(empty, "start")
    drop(page, ("cat.json", '{"colour": "red"}'), ("conversations.json", chatgpt()))
    files = page.get_by_test_id("file")
    expect(files.nth(0).get_by_role("alert")).to_contain_text("what can be imported")
    expect(files.nth(0)).to_contain_text("ChatGPT")
    expect(files.nth(1)).to_contain_text("4 messages")
    choose(page, "photo.json", b"\x89PNG\r\n\x1a\n\x00\xff\xfe")
    expect(files.nth(0).get_by_role("alert")).to_contain_text("seems to be a picture (PNG)")


CHAT = "".join(
    f"26/07/2025, 10:0{minute} - {name}: {words}\n"
    for minute, (name, words) in enumerate(
        [("Mara Lindqvist", "I live in Ghent."), ("Cat O'Hara", "Since when?"), ("Mara Lindqvist", "Since May.")]
    )
)


def test_a_chat_of_several_people_asks_which_of_them_you_are(page_at, empty):
    """The names are buttons; the file is sent again by itself, and its times are of the zone of who looks."""
    page = page_at(empty, "start", timezone="Europe/Stockholm")
    name_owner(page, "mara")
    drop(page, ("WhatsApp Chat with Cat.txt", CHAT))
    asked = page.get_by_test_id("speakers")
    expect(asked).to_contain_text("Which of these are you?")
    expect(asked.get_by_role("button")).to_have_text(["Mara Lindqvist", "Cat O'Hara"])
    asked.get_by_role("button", name="Mara Lindqvist").click()
    expect(page.get_by_test_id("file")).to_contain_text("3 messages in 1 conversation came in.")
    expect(page.get_by_test_id("file")).to_contain_text("times are taken as those of Europe/Stockholm")
    expect(page.get_by_test_id("file")).not_to_contain_text("--zone")
    (session,) = read(empty, "sessions", user_id="mara")["items"]
    said = read(empty, f"sessions/{quote(session['id'], safe='')}/messages")["items"]
    assert [one["role"] for one in said] == ["user", "assistant", "user"]
    assert said[0]["created_at"] == "2025-07-26T10:00:00+02:00"


def drop_path(page, path):
    """Drop a file or a folder of this machine, as a hand does."""
    box = page.get_by_test_id("drop").bounding_box()
    devtools = page.context.new_cdp_session(page)
    at = {"x": box["x"] + 20, "y": box["y"] + 10}
    data = {"items": [], "files": [str(path)], "dragOperationsMask": 1}
    for kind in ("dragEnter", "dragOver", "drop"):
        devtools.send("Input.dispatchDragEvent", {"type": kind, **at, "data": data})


@pytest.mark.parametrize("way", ["drop", "choose"])
def test_a_folder_is_imported_with_what_can_be_read_in_it(page_at, empty, tmp_path, way):
    """Its files by their paths; pictures and hidden files are left. A folder with nothing of use says so."""
    folder = tmp_path / "years"
    for name in ("deep/conversations.json", ".git/config.json", "photo.png"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(chatgpt())
    (tmp_path / "pictures").mkdir()
    (tmp_path / "pictures" / "photo.png").write_bytes(b"PNG")
    page = page_at(empty, "start")
    expect(page.get_by_test_id("drop")).to_be_visible()

    def bring(path):
        if way == "drop":
            drop_path(page, path)
        else:
            page.get_by_label("A folder to import").set_input_files(path)

    bring(folder)
    expect(page.get_by_test_id("file")).to_contain_text("years/deep/conversations.json")
    expect(page.get_by_test_id("file")).to_contain_text("4 messages in 1 conversation came in.")
    bring(tmp_path / "pictures")
    expect(page.get_by_test_id("file")).to_contain_text("Nothing in this folder can be imported")


def test_a_file_that_is_too_large_says_the_limit_and_what_would_work(page_at, served, tmp_path):
    address = served(tmp_path / "small.db", LAMINA_MAX_BODY_BYTES="20000")
    page = page_at(address, "start")
    choose(page, "chats.json", b"[" + b" " * 30_000 + b"]")
    alert = page.get_by_test_id("file").get_by_role("alert")
    expect(alert).to_contain_text("up to 20 KB")
    expect(alert).to_contain_text("lamina import")


def test_a_large_zip_file_is_sent_without_its_pictures(page_at, served, tmp_path):
    """The export of ChatGPT has every picture of years beside the words; only the words go over the wire."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as target:
        target.writestr("file-1.png", random.Random(1).randbytes(60_000))
        target.writestr("conversations.json", chatgpt())
        target.writestr("file-2.png", random.Random(2).randbytes(60_000))
    address = served(tmp_path / "small.db", LAMINA_MAX_BODY_BYTES="20000")
    page = page_at(address, "start")
    choose(page, "export.zip", packed.getvalue())
    expect(page.get_by_test_id("file")).to_contain_text("4 messages in 1 conversation")
    page.get_by_test_id("imported").get_by_role("link", name="You, as Lamina knows you").click()
    expect(page.get_by_test_id("change")).to_contain_text(re.compile("Ghent.*Porto"))


def test_who_may_only_read_sees_no_door_and_who_may_write_the_chat_only(page_at, empty):
    admin = post(empty, "keys", name="admin", role="admin")["key"]
    reader, writer = (
        ask("POST", empty, "keys", key=admin, body={"name": role, "role": role})["key"] for role in ("read", "write")
    )
    for key, doors in ((reader, 0), (writer, 1)):
        page = page_at(empty, "timeline", expected=["401"])
        page.get_by_role("textbox", name="Key").fill(key)
        page.get_by_role("button", name="Use this key").click()
        expect(page.get_by_role("heading", name="This memory is empty")).to_be_visible()
        expect(page.locator(".door")).to_have_count(doors)
        expect(page.get_by_role("link", name="Import")).to_have_count(doors)
        expect(page.locator("main [role=alert]")).to_have_count(0)
    assert ask("GET", empty, "users", key=reader)["items"] == []
