"""Summaries by a language model."""

import re

from lamina.errors import ModelError
from lamina.folding.acceptance import missing, objection
from lamina.folding.layouts import enclose, fill, prompt_values, rename_sections
from lamina.models.llm.ask import InvalidAnswer, ask_until_valid, render_prompt
from lamina.models.llm.endpoint import Endpoint
from lamina.models.llm.openai_api import Ask, Reply, strip_fence
from lamina.models.llm.prompts import prompts
from lamina.models.offline.summarisation.salience import score_statements
from lamina.models.offline.summarisation.statements import statements_of_messages
from lamina.models.offline.summarisation.topics import topics
from lamina.profiles import Hosted
from lamina.protocols.models import SummaryDraft, SummaryTask

_PREFACE = re.compile(
    r"\A(?:(?:sure|certainly|of course|okay)\b[^\n:]{0,40}[,.!:]\s*)?here(?:'s| is| are)\b[^\n]{0,120}:\s*\n+",
    re.IGNORECASE,
)
_WITHOUT_HOSTED = frozenset(("compress", "digest"))
_MAX_HOSTED_TRIES = 2


class LlmSummariser:
    """Writes summaries by the prompts of the task, or by one that the provider keeps where the profile names it."""

    must_cover = True  # what the offline summariser finds most important

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        self.name = endpoint.model

    async def summarise(self, task: SummaryTask) -> SummaryDraft:
        chosen = (task.prompt or "").endswith("@0")  # a prompt given to `regenerate`
        if task.hosted is not None and task.input and task.kind not in _WITHOUT_HOSTED and not chosen:
            draft = await self._ask_hosted(task, task.hosted)
            if draft is not None:
                return draft
        messages = (("system", render_prompt("guard")), ("user", _prompt(task)))
        ask = Ask(purpose="summary", messages=messages, room=2 * task.cap + 256)
        return await ask_until_valid(self.endpoint, ask, lambda reply: self._check(task, reply))

    async def _ask_hosted(self, task: SummaryTask, hosted: Hosted) -> SummaryDraft | None:
        """By the provider's own prompt, with the input of the `chunked` profile."""
        problem = ""
        for _ in range(_MAX_HOSTED_TRIES):
            reply = await self.endpoint.answer_hosted(hosted, task.input, "summary")
            if reply is None:
                return None
            label = f"{hosted.id}@{hosted.version or 'latest'}"
            try:
                return self._check(task, reply, label)
            except InvalidAnswer as unfit:
                problem = str(unfit)
                if isinstance(unfit.enough, SummaryDraft):
                    return unfit.enough
        raise ModelError(f"{self.name} gave no fit answer to the hosted prompt: {problem}")

    def _check(self, task: SummaryTask, reply: Reply, prompt: str | None = None) -> SummaryDraft:
        text = _PREFACE.sub("", strip_fence(reply.text)).strip()
        text = rename_sections(text, task.asked_sections, task.sections)
        problem = "it is a refusal" if reply.refused else objection(task, text, cut=reply.cut)
        if problem:
            raise InvalidAnswer[SummaryDraft](problem, hint=_hint(task, text))
        found = topics(score_statements(statements_of_messages(task.messages, 0))) if task.messages else ()
        draft = SummaryDraft(text=text, topics=found, prompt=prompt)
        size = self.endpoint.counter.count(text)
        if size > task.cap:
            raise InvalidAnswer(f"it has {size} tokens where {task.cap} are the most", draft)
        return draft


def _hint(task: SummaryTask, text: str) -> str:
    """What an answer should have said, enclosed as data."""
    lines = missing(task, text)
    return fill(prompts()["missing"].text, {"LINES": enclose("\n".join(lines))}) if lines else ""


def _prompt(task: SummaryTask) -> str:
    """The task's prompt, with quoted text enclosed as data."""
    template = task.template or prompts()["layer"].text
    text = fill(template, prompt_values(task, enclose))
    if task.keep:
        text += fill(prompts()["keep"].text, {"WORDS": enclose("\n".join(task.keep))})
    return text
