"""A summary every twenty turns; facts of a few categories."""

from lamina.profiles.profile import Periodic, Profile, Step, Window

ASSISTANT = Profile(
    name="assistant",
    window=Window(unit="turns", size=10),
    schedule=Periodic(every=20, keep=10),
    kind="chunk",
    layout="assistant",
    steps=(
        Step(section="recent", limit=10),
        Step(section="facts"),
        Step(section="summaries", limit=3),
        Step(section="recent"),
    ),
    budget=8_000,
    close_gaps=True,
    cap=250,
    excerpt=150,
    facts=True,
    categories=("identity", "preference", "constraint", "instruction"),
    category_names={
        "relation": "identity",
        "health": "constraint",
        "commitment": "constraint",
        "procedure": "instruction",
    },
    conflicts="confidence",
    summary_order="relevance",
    episode_distance=0.4,
    digest_sessions=0,
    idle_hours=24,
    prompts={"chunk": "chunk", "final": "chunk", "compress": "compress"},
)
