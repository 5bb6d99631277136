"""One rolling summary in sections, rewritten every ten messages."""

from lamina.profiles.profile import Profile, Step, Stepped, Window

MEDIUM_TERM = Profile(
    name="medium_term",
    window=Window(unit="messages", size=10),
    schedule=Stepped(window=10, step=10),
    kind="rolling",
    layout="medium_term",
    steps=(Step(section="recent"), Step(section="facts"), Step(section="digest"), Step(section="summaries", cut=True)),
    budget=16_000,
    facts=True,
    archive_days=30,
    last_session_messages=10,
    cap=1_000,
    user_share=0.7,
    least=500,
    total_cap=7_000,
    title="# Medium-Term Memory",
    sections=(
        "User's Journey & Insights",
        "Current Situation & Context",
        "Ongoing Work & Interests",
        "Preferences & Patterns",
    ),
    first_sections=(
        "Key Insights & Breakthroughs",
        "Current Situation",
        "Ongoing Work & Interests",
        "Preferences & Patterns",
    ),
    prompts={
        "initial": "medium_term_initial",
        "update": "medium_term_update",
        "compress": "compress",
        "final": "medium_term_update",
        "digest": "digest",
    },
)
