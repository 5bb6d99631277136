"""A summary every twenty turns; facts of a few categories."""

from lamina.profiles.profile import Periodic, Profile, Step, Window

ASSISTANT = Profile(
    name="assistant",
    window=Window(unit="turns", size=10),
    schedule=Periodic(every=20, keep=10),
    kind="chunk",
    layout="assistant",
    steps=(Step(section="recent"), Step(section="facts"), Step(section="summaries", limit=3)),
    budget=8_000,
    cap=250,
    excerpt=150,
    facts=True,
    categories=(
        "identity",
        "relation",
        "health",
        "preference",
        "constraint",
        "instruction",
        "procedure",
        "commitment",
    ),
    conflicts="confidence",
    summary_order="relevance",
    episode_distance=0.75,  # 0.4 in the document, for vectors that put alike texts nearer than static ones do
    digest_sessions=0,
    prompts={"chunk": "chunk", "final": "chunk", "compress": "compress"},
)
