"""Chunks of ten messages, joined when they are many; facts wait as candidates until they are sure."""

from lamina.profiles.profile import Merge, Overflow, Profile, Step, Window

PROJECT = Profile(
    name="project",
    window=Window(unit="messages", size=20),
    schedule=Overflow(recent=20, chunk=10),
    kind="chunk",
    upkeep=Merge(most=25),
    layout="project",
    steps=(
        Step(section="recent", share=0.6),
        Step(section="recalled", share=0.4),
        Step(section="summaries"),
        Step(section="recent"),
        Step(section="recalled"),
    ),
    budget=128_000,
    close_gaps=True,
    cap=200,
    least=100,
    facts=True,
    promote_confidence=0.7,
    episodes=True,
    semantic_weight=0.4,
    keyword_weight=0.3,
    recency_weight=0.2,
    importance_weight=0.1,
    importance_by_type=True,
    recalled_kinds=("message", "summary", "fact", "episode"),
    short_term_retention_turns=50,
    system_prompt_tokens=2_000,
    working_memory_tokens=8_000,
    digest_sessions=0,
    prompts={"chunk": "chunk", "final": "chunk", "compress": "compress"},
)
