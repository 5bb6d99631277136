"""Facts in other languages than English: labelled chat messages, the language of a sentence, word order, elision."""

import tomllib
from importlib import resources

import pytest

from benchmarks import notes
from benchmarks.facts import labelled, message, score
from lamina.models.offline.fact_extraction.fact_extractor import facts_in, read_message

LANGUAGES = ("de", "es", "fr", "it", "nl", "pt")


@pytest.mark.parametrize("language", LANGUAGES)
def test_labelled_messages(language):
    """Nearly all facts of the messages that may be read are found, and hardly one that is not there."""
    result = score(labelled(language))
    assert result.precision() >= 0.95, result.mistakes
    assert result.recall() >= 0.9, result.mistakes


@pytest.mark.parametrize("language", LANGUAGES)
def test_unseen_messages(language):
    """Most facts of the messages that nobody reads are found; what is found is right."""
    result = score(labelled(language, unseen=True))
    assert result.precision() >= 0.93
    assert result.recall() >= 0.7


@pytest.mark.parametrize("unseen", [False, True], ids=["seen", "unseen"])
@pytest.mark.parametrize("language", LANGUAGES)
def test_what_a_reader_would_note(language, unseen):
    """Facts and statements together have most of what careful readers note, and little else."""
    chosen = [one for one in notes.of_language(language) if one.unseen == unseen]
    sure = hits = right = number = 0
    for one in chosen:
        kept = [draft for draft in notes.memories(one) if draft.confidence >= notes.ACTIVE]
        number += len(kept)
        right += sum(any(notes.meets(note, draft) for note in one.notes) for draft in kept)
        sure += sum(note.sure for note in one.notes)
        hits += sum(note.sure and any(notes.meets(note, draft) for draft in kept) for note in one.notes)
    assert right >= 0.85 * number
    assert hits >= 0.7 * sure


def test_cues_of_every_language_have_the_same_classes():
    """A model that is trained on English sees in every language the classes that it knows."""
    folder = resources.files("lamina.models.offline.statement_extraction")
    tables = {
        file.name: tomllib.loads(file.read_text("utf-8")) for file in folder.iterdir() if file.name.startswith("cues_")
    }
    english = tables["cues_en.toml"]
    for name, table in tables.items():
        assert set(table["cues"]) == set(english["cues"]), name
        assert set(table["split"]) >= set(english["split"]) - {"openers"}, name


def found(text):
    return [(draft.key or draft.category, draft.value) for draft in facts_in(message(text))]


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        pytest.param("vivo en Lima", [("location", "Lima")], id="es"),
        pytest.param("vivo em Lisboa", [("location", "Lisboa")], id="pt"),
        pytest.param("vivo a Roma", [("location", "Roma")], id="it"),
        pytest.param("je vis à Lyon", [("location", "Lyon")], id="fr"),
        pytest.param("ik woon in Gent", [("location", "Gent")], id="nl"),
        pytest.param("ich wohne in Bonn", [("location", "Bonn")], id="de"),
        pytest.param("I live in Leeds", [("location", "Leeds")], id="en"),
        pytest.param("soy vegetariana", [("diet", "vegetariana")], id="es-two-words"),
        pytest.param("sou vegetariana", [("diet", "vegetariana")], id="pt-two-words"),
        pytest.param("sono vegetariana", [("diet", "vegetariana")], id="it-two-words"),
        pytest.param("me encanta el jazz", [("jazz", "likes jazz")], id="es-jazz"),
        pytest.param("amo jazz, mas odeio ópera", [("jazz", "likes jazz"), ("ópera", "dislikes ópera")], id="pt-jazz"),
        pytest.param("Hi there! Ich wohne in Bonn.", [("location", "Bonn")], id="mixed-sentences"),
        pytest.param("I live in Leeds. Mi nombre es Ana.", [("location", "Leeds"), ("name", "Ana")], id="mixed-en-es"),
    ],
)  # fmt: skip
def test_short_sentences_are_read_in_their_language(text, facts):
    """A few function words tell the language of each sentence, also among languages that share many of them."""
    assert found(text) == facts


NO_FACTS = """
ich arbeite an einem buch über bienen
ich bin immer müde nach der arbeit
ich nehme den bus
ich esse gerade pizza
ich suche einen job als koch in hamburg
früher war ich lehrerin
was kostet eine wohnung in münchen
estoy en París de vacaciones
trabajo desde casa
soy un desastre con las plantas
quiero pedir una pizza
antes vivía en Quito
qué opinas de vivir en Madrid?
busco trabajo de cocinero en Vigo
je suis à Paris pour trois jours
je travaille sur un livre
je suis nul en maths
je prends le bus
avant je vivais à Toulouse
je cherche un boulot de cuisinier à Brest
tô em Paris de férias
trabalho de casa
sou péssimo em matemática
antes eu morava em Manaus
o que você acha de morar em Lisboa?
sono a Parigi per tre giorni
lavoro da casa
sono stanca di aspettare
prima vivevo a Palermo
se abitassi a Milano prenderei la metro
ik werk thuis
ik werk bij een bank
ik ben slecht in wiskunde
vroeger woonde ik in Eindhoven
als ik in Amsterdam zou wonen deed ik alles op de fiets
""".strip().splitlines()


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("mi hermano es alérgico a los gatos", [("hermano", "allergy gatos", "gatos")]),
        ("mi madre vive en Chile y tiene diabetes", [("madre", "location", "Chile"), ("madre", "health", "diabetes")]),
        ("mi hijo tiene 7 años y no come carne", [("hijo", "age", "7"), ("hijo", "eats carne", "no")]),
        ("mi marido se llama Andrés y tenemos dos hijas", []),
        ("si mi hermana fuera vegana no comería esto", []),
        ("mi hermano antes vivía en Lima", []),
    ],
)
def test_what_is_said_of_others_in_spanish(text, facts):
    """It is about them; what the user says beside it is not."""
    drafts = [draft for draft in read_message(message(text)).facts if draft.about]
    assert [(draft.about, draft.key, draft.value) for draft in drafts] == facts


@pytest.mark.parametrize("text", NO_FACTS)
def test_near_misses(text):
    """What was, is asked, supposed, a mood or a place for a few days is no fact in any language."""
    assert found(text) == []


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        pytest.param("vivo con mis padres en un piso en Getafe", [("location", "Getafe")], id="es-with-whom"),
        pytest.param("je vis avec mes parents dans un appart à Créteil", [("location", "Créteil")], id="fr-with"),
        pytest.param("moro com meus pais num apê em Niterói", [("location", "Niterói")], id="pt-with-whom"),
        pytest.param("vivo con i miei in un appartamento a Monza", [("location", "Monza")], id="it-with-whom"),
        pytest.param("ik woon met mijn ouders in een flat in Almere", [("location", "Almere")], id="nl-with-whom"),
        pytest.param("ich wohne mit Lea in einer WG in Jena", [("location", "Jena")], id="de-with-whom"),
        pytest.param("Mein Budget: 500 Euro", [("budget", "500 Euro")], id="de-label"),
        pytest.param("Mon budget : 500 euros", [("budget", "500 euros")], id="fr-label"),
        pytest.param("me llamo Francisco, me dicen Paco", [("name", "Francisco"), ("nickname", "Paco")], id="es-two"),
        pytest.param("ik heet Frans, ik ben geboren in Delft", [("name", "Frans"), ("hometown", "Delft")], id="nl-two"),
        pytest.param("mi color favorito es el verde", [("favourite color", "verde")], id="es-favourite"),
        pytest.param("mon film préféré c'est Amélie", [("favourite film", "Amélie")], id="fr-favourite"),
        pytest.param("minha cor favorita é verde", [("favourite cor", "verde")], id="pt-favourite"),
        pytest.param("il mio colore preferito è il verde", [("favourite colore", "verde")], id="it-favourite"),
        pytest.param("Ich bin 1988 in Graz geboren", [("hometown", "Graz")], id="a-year-is-no-age"),
    ],
)  # fmt: skip
def test_common_ways_of_saying_it(text, facts):
    """With whom, with a label, with a second name, with a year."""
    assert found(text) == facts


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        pytest.param("Seit 2015 wohne ich in Mainz.", [("location", "Mainz")], id="time-first"),
        pytest.param("Gegen Nüsse bin ich allergisch.", [("allergy nüsse", "Nüsse")], id="object-first"),
        pytest.param("Sinds mei werk ik bij Philips.", [("employer", "Philips")], id="dutch"),
        pytest.param(
            "Am 12. Mai habe ich einen Termin beim Zahnarzt.",
            [("commitment", "einen Termin beim Zahnarzt Am 12. Mai")],
            id="value-of-two-places",
        ),
    ],
)
def test_a_subject_behind_its_verb(text, facts):
    """What stands before the verb is read as if it stood behind."""
    assert found(text) == facts


def test_quotes_of_inverted_clauses_are_pieces_of_the_text():
    """The quote has both the verb and what was before it."""
    text = "Also, am 12. Mai habe ich einen Termin beim Zahnarzt."
    (draft,) = facts_in(message(text))
    assert text[draft.start : draft.end] == draft.quote == "am 12. Mai habe ich einen Termin beim Zahnarzt"
