"""One short rolling summary, written when a threshold of tokens is passed."""

from lamina.profiles.profile import Hosted, Profile, Step, Threshold, Window

CHUNKED = Profile(
    name="chunked",
    window=Window(unit="turns", size=3),
    schedule=Threshold(tokens=6_000, keep=3),
    kind="rolling",
    layout="chunked",
    steps=(Step(section="summaries", cut=True), Step(section="recent")),
    budget=3_000,
    cap=500,
    least=400,
    total_cap=500,
    digest_sessions=0,
    prompts={
        "initial": "chunked_summary",
        "update": "chunked_summary",
        "final": "chunked_summary",
        "compress": "compress",
    },
    domains=("technique", "musicality", "physiology", "psychology", "repertoire", "practice"),
    summarizer_model="gpt-5.1-nano",
    hosted=Hosted(id="pmpt_6917ebe9367c819396fe4840cf0f0e050c18a965a3366120"),
)
