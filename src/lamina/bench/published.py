"""The published files of LoCoMo, LongMemEval and BEAM, as rows that `readers` reads."""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from lamina.errors import InputError

Row = Mapping[str, Any]

LOCOMO = frozenset(("sample_id", "conversation", "qa"))
LONGMEMEVAL = frozenset(("question_id", "haystack_sessions", "haystack_dates"))
_CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}
_SESSION = re.compile(r"session_(\d+)")
_TURN = re.compile(r"D\d+:\d+")
_PLACE = re.compile(r"\s*->->\s*[\d,\s]+$")  # behind each message of BEAM: its place in the plan
_CHATS = ("chat_trunecated.json", "chat.json")  # as the set spells it; the shorter one is what it asks about
_QUESTIONS = "probing_questions/probing_questions.json"


def locomo_row(sample: Row) -> dict[str, Any]:
    """A sample of `locomo10.json`."""
    said, name = sample["conversation"], str(sample["sample_id"])
    numbers = sorted(int(found[1]) for key in said if (found := _SESSION.fullmatch(key)))
    turns = [
        {
            "id": turn["dia_id"],
            "sess": f"S{number}",
            "date": said[f"session_{number}_date_time"],
            "speaker": turn["speaker"],
            "text": _with_photo(turn),
        }
        for number in numbers
        for turn in said[f"session_{number}"]
    ]
    known = {turn["id"]: turn["sess"] for turn in turns}
    questions = [_locomo_question(f"{name}#{place}", asked, known) for place, asked in enumerate(sample["qa"])]
    return {"conv_id": name, "turns": turns, "questions": questions}


def _with_photo(turn: Row) -> str:
    shown = turn.get("blip_caption")
    return f"{turn['text']} [shares a photo: {shown}]" if shown else str(turn["text"])


def _locomo_question(name: str, asked: Row, known: Mapping[str, str]) -> dict[str, Any]:
    gold = [turn for turn in _TURN.findall(" ".join(asked.get("evidence") or ())) if turn in known]
    return {
        **{field: asked[field] for field in ("answer", "adversarial_answer") if field in asked},
        "qid": name,
        "cat": _CATEGORIES.get(asked["category"], str(asked["category"])),
        "q": asked["question"],
        "gold": list(dict.fromkeys(gold)),
        "gold_sess": list(dict.fromkeys(known[turn] for turn in gold)),
    }


def longmemeval_rows(entry: Row) -> tuple[Row, Mapping[str, Row]]:
    """An entry of `longmemeval_*.json`: the question, and the sessions of its history."""
    name = str(entry["question_id"])
    ids = entry.get("haystack_session_ids") or [f"{name}_{place}" for place in range(len(entry["haystack_sessions"]))]
    stored = {
        session: {"id": session, "turns": [_longmemeval_turn(turn) for turn in turns]}
        for session, turns in zip(ids, entry["haystack_sessions"], strict=True)
    }
    dated = sorted(zip(ids, entry["haystack_dates"], strict=True), key=lambda one: one[1])
    question = {
        "qid": name,
        "cat": entry["question_type"],
        "abs": name.endswith("_abs"),
        "q": entry["question"],
        "answer": entry.get("answer"),
        "date": entry["question_date"],
        "gold_sess": entry.get("answer_session_ids") or [],
        "haystack": dated,
    }
    return question, stored


def _longmemeval_turn(turn: Row) -> dict[str, Any]:
    return {"role": turn["role"], "text": turn["content"], "has_answer": bool(turn.get("has_answer"))}


def beam_rows(folder: Path) -> Iterator[dict[str, Any]]:
    """The chats in a folder of BEAM, which is one chat (`chats/100K/1`) or has one in each folder (`chats/100K`)."""
    if not (folder / _QUESTIONS).exists():
        chats = [one for one in folder.iterdir() if one.name.isdigit() and (one / _QUESTIONS).exists()]
        for chat in sorted(chats, key=lambda one: int(one.name)):
            yield _beam_row(chat)
        return
    yield _beam_row(folder)


def _beam_row(folder: Path) -> dict[str, Any]:
    chat = next((folder / name for name in _CHATS if (folder / name).exists()), None)
    if chat is None:
        raise InputError(f"{folder} has questions and no {' or '.join(reversed(_CHATS))}")
    place = folder.resolve()
    name = f"{place.parent.name}/{place.name}"
    try:
        turns = list(_beam_turns(json.loads(chat.read_text("utf-8"))))
        asked = json.loads((folder / _QUESTIONS).read_text("utf-8"))
        questions = [
            _beam_question(f"{name}/{ability}/{number}", ability, one, turns)
            for ability, listed in asked.items()
            for number, one in enumerate(listed)
        ]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{folder} cannot be read as a chat of BEAM: {error!r}") from None
    return {"conv_id": name, "turns": turns, "questions": questions}


def _beam_turns(batches: list[Row]) -> Iterator[dict[str, Any]]:
    date = None
    for batch in batches:
        if "turns" not in batch:
            raise ValueError("its batches have no turns; of the sizes, 10M has another form, which is not read")
        for message in (one for group in batch["turns"] for one in group):
            date = message.get("time_anchor") or date
            yield {
                "id": message["id"],
                "sess": f"B{batch['batch_number']}",
                "date": date,
                "speaker": message["role"],
                "text": _PLACE.sub("", message["content"]),
            }


def _beam_question(name: str, ability: str, asked: Row, turns: list[dict[str, Any]]) -> dict[str, Any]:
    sources = _numbers(asked.get("source_chat_ids"))
    sessions = {turn["id"]: turn["sess"] for turn in turns}
    gold = [number for number in sources if number in sessions]
    return {
        **asked,
        "qid": name,
        "cat": ability,
        "q": asked["question"],
        "gold": gold,
        "gold_sess": list(dict.fromkeys(sessions[number] for number in gold)),
    }


def _numbers(given: Any) -> list[int]:
    """The ids in a number, a list or an object of lists, each once."""
    if isinstance(given, dict | list):
        inner = given.values() if isinstance(given, dict) else given
        return list(dict.fromkeys(number for one in inner for number in _numbers(one)))
    return [given] if isinstance(given, int) and not isinstance(given, bool) else []
