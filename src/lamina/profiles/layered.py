"""Summaries of batches, folded into one long summary; conflicts between facts are shown."""

from lamina.profiles.profile import Batches, IntoLong, Profile, Step, Window

LAYERED = Profile(
    name="layered",
    window=Window(unit="turns", size=4),
    schedule=Batches(least=8, most=10),
    kind="medium",
    upkeep=IntoLong(count=4),
    layout="layered",
    steps=(
        Step(section="facts"),
        Step(section="recent"),
        Step(section="recalled", share=0.2),
        Step(section="summaries"),
        Step(section="recalled"),
    ),
    budget=4_000,
    close_gaps=True,
    cap=300,
    user_share=0.7,
    facts=True,
    categories=("identity", "relation", "health", "preference", "goal", "constraint", "commitment"),
    conflicts="flag",
    recalled_kinds=("summary", "fact"),
    digest_sessions=0,
    prompts={"medium": "medium", "final": "medium", "long": "long", "compress": "compress"},
)
