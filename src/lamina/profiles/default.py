"""Layers of summaries over the whole session, filled up with what search finds."""

from lamina.profiles.profile import FanOut, PastWindow, Profile, Step, Window

DEFAULT = Profile(
    name="default",
    window=Window(unit="turns", size=3, fill=True),
    schedule=PastWindow(tokens=1_500, keep=3),
    kind="layer",
    upkeep=FanOut(most=8, width=4),
    close_gaps=True,
    layout="default",
    steps=(
        Step(section="facts", share=0.15, limit=3),
        Step(section="facts", share=0.05),
        Step(section="recent", limit=3),
        Step(section="gap"),
        Step(section="summaries", share=0.4),
        Step(section="recalled", share=0.5),
        Step(section="digest", share=0.1),
        Step(section="summaries"),
        Step(section="recent"),
        Step(section="recalled"),
        Step(section="digest"),
        Step(section="facts"),
    ),
    budget=4_000,
    retrieval_top_k=400,
    relevance_threshold=0.00001,
    cap=300,
    user_share=0.7,
    facts=True,
    episodes=True,
    never_archived=("identity", "constraint", "instruction"),
    summary_order="coverage",
    digest_cap=350,  # with its heading within its share of the budget
    idle_hours=24,
    prompts={"layer": "layer", "final": "layer", "fold": "layer", "compress": "compress", "digest": "digest"},
)
