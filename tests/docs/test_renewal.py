"""Outputs of pages are written from what their blocks print: `python -m scripts.renew_docs`."""

from contextlib import ExitStack

from scripts.renew_docs import Databases, Renewal, renew

PAGE = """# Boats

It prints 1.

```python
print(1)
print("Heron")
assert 1 == 2
boats = 2
```

```text
1
Gull
```

```console
$ echo 1
1
$ echo 3
2
$ echo 3; echo made 0a1b2c3d
3
...
$ false
```
"""


def test_only_outputs_that_differ_are_written_and_the_rest_is_listed(tmp_path, monkeypatch):
    """A failed assertion stops nothing; a command that fails ends the page. Both are named with their lines."""
    path = tmp_path / "page.md"
    path.write_text(PAGE, "utf-8")
    monkeypatch.setattr("scripts.renew_docs.page_name", lambda page: page.name)
    with ExitStack() as open_:
        page = Renewal(path, tmp_path, Databases(open_))
        page.go()
    assert page.text == PAGE.replace("Gull", "Heron").replace("echo 3\n2", "echo 3\n3")
    assert page.namespace == {}  # it is closed
    assertion, command = page.left
    assert assertion == "page.md:8: not so: assert 1 == 2\n  it is 1"
    assert "`false` gives 1" in command


def test_lines_that_still_hold_keep_their_dots_and_ids_get_them():
    shown = " id  fact\n ...  name: Ana\n"
    printed = " id  fact\n 0a1b2c3d  name: Ana  \n 1b2c3d4e  diet: vegan\n"
    assert renew(shown, printed) == " id  fact\n ...  name: Ana\n ...  diet: vegan\n"
