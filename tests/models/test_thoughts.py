"""Summaries keep thoughts: a sentence with what it needs to be understood."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina.models.offline.summarisation.statements import statements_of_messages, statements_of_summary
from lamina.models.offline.summarisation.thoughts import bind, closures
from tests.models.test_offline_summariser import COUNTER, FOUR, SUMMARISER, message, summary, talk, task
from tests.sizes import examples

FILLER = (
    "I planted forty leeks beside the greenhouse in Gouda.",
    "A: Leeks like rich soil and much water.",
    "My cousin Ferran repairs clocks in Girona.",
    "I ordered a walnut desk from Umbra for 640 euros.",
)


@pytest.mark.parametrize(
    ("head", "tail"),
    [
        pytest.param("I asked Odile about the loan.", "She answered that the bank refused.", id="she"),
        pytest.param("The cottage in Skye belongs to us.", "Not for sale, it stays in the family.", id="not"),
        pytest.param("We repaired the harpsichord.", "It took eleven weeks and 900 euros.", id="it"),
        pytest.param("The Petersons moved to Cork.", "They left their piano to my sister.", id="they"),
        pytest.param("I tried the bakery on Elm Street.", "The second one sells rye bread.", id="the-second"),
        pytest.param("My brother called about Easter.", "Probably with the twins and the dog.", id="no-verb"),
        pytest.param("I found a violin at the market.", "I bought it from an old luthier.", id="object"),
    ],
)
def test_a_tail_comes_with_its_head(head, tail):
    """Whatever the room, a sentence that leans on the one before it is never there without it."""
    seen = 0
    for cap in range(12, 140, 4):
        text = summary(*FILLER, f"{head} {tail}", cap=cap)
        assert tail not in text or head in text, text
        seen += tail in text
    assert seen


@pytest.mark.parametrize(
    ("offer", "refusal"),
    [
        pytest.param("The dentist offered a crown for 800 euros.", "I said no for now.", id="said-no"),
        pytest.param("The museum in Basel wants to hire me.", "But I turned it down at once.", id="but"),
        pytest.param("We booked the castle for the wedding.", "It fell through in March.", id="fell-through"),
    ],
)
def test_an_offer_comes_with_its_refusal(offer, refusal):
    """What was offered or planned is never kept without the words that take it back."""
    seen = 0
    for cap in range(12, 140, 4):
        text = summary(*FILLER, f"{offer} {refusal}", cap=cap)
        assert offer not in text or refusal in text, text
        seen += offer in text
    assert seen


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        pytest.param("Do you have any allergies?", "Peanuts and kiwi.", id="fragment"),
        pytest.param("Who sang at the party?", "It was Matt Patterson, the baritone.", id="it-was"),
        pytest.param("Shall I book the table at Noma?", "No, my mother can't eat there.", id="no"),
        pytest.param("What kind of venue do you want?", "somewhere warm by a lake in Ticino", id="lower-case"),
        pytest.param("What's the budget and who's your contact?", "8k in all and it's Joris.", id="figure-first"),
    ],
)
def test_an_answer_comes_with_its_question(question, answer):
    """An answer that says little by itself has the question beside it, in its own line."""
    text = summary(*FILLER, f"A: Good. {question}", answer, cap=200)
    assert f'- User (to "{question}"): {answer}' in text.splitlines()


def test_code_is_not_shown_as_what_is_answered():
    """A line of code says nothing of what was asked."""
    assert "os.system" not in summary(*FILLER, "A: os.system(command)", "Please explain that to me.", cap=200)


def test_a_question_is_not_repeated_for_whole_sentences():
    """What can be understood alone has no question beside it."""
    text = summary("A: Where do you live?", "I live in Bergen with my cat Solveig.", cap=100)
    assert text == "- User: I live in Bergen with my cat Solveig."


def test_a_yes_that_says_what_it_agrees_to_needs_no_question():
    """A yes before a whole sentence goes, and so does the question; a no stays with its question."""
    asked = "A: Is this your own painting?"
    assert summary(asked, "Yeah, I painted that lake in Savonlinna.") == "- User: I painted that lake in Savonlinna."
    assert 'painting?"): No, my aunt' in summary(asked, "No, my aunt Aino painted the lake.")


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        pytest.param("I ran a race in Oban and it was so great!", "I ran a race in Oban!", id="behind-and"),
        pytest.param("I ran a race in Oban - it was amazing.", "I ran a race in Oban.", id="behind-a-dash"),
        pytest.param("I ran a race in Oban, which is pretty cool!", "I ran a race in Oban!", id="which"),
        pytest.param("It was great, I ran a race in Oban.", "I ran a race in Oban.", id="before"),
        pytest.param("I wanted to tell you that I ran a race in Oban.", "I ran a race in Oban.", id="announced"),
        pytest.param("I ran a race in Oban, but it was hard.", "I ran a race in Oban, but it was hard.", id="but"),
        pytest.param("I ran in Oban and it wasn't great.", "I ran in Oban and it wasn't great.", id="not"),
        pytest.param("I ran in Oban and it was icy.", "I ran in Oban and it was icy.", id="says-something"),
        pytest.param("I ran in Oban and it made me happy.", "I ran in Oban and it made me happy.", id="feeling"),
    ],
)
def test_remarks_that_add_nothing_go(said, kept):
    """A clause at an end of a sentence that only admires or announces is left out; what says something stays."""
    assert summary(said) == f"- User: {kept}"


def test_a_name_called_at_the_end_goes():
    """Whom a sentence is said to is not repeated."""
    said = [message("I sold the boat in Oban, Mara.", name="Ida"), message("Who bought the boat?", name="Mara", seq=2)]
    assert "- Ida: I sold the boat in Oban." in SUMMARISER.write(task(said)).text.splitlines()


_THINGS = (
    "boats", "clocks", "violins", "ovens", "lamps", "leeks", "desks", "maps", "coins", "tents", "rugs", "looms",
)  # fmt: skip


def test_a_line_has_what_one_speaker_said_in_a_row():
    """Words of several messages share a line, unless it would be long, an answer, or was a line of its own before."""
    text = summary("I sold the boat in Oban.", "A: I see.", "My cat Solveig is nine.", cap=100)
    assert text == "- User: I sold the boat in Oban. My cat Solveig is nine."
    assert len(summary("i sold the boat in oban", "A: Ah.", "my cat solveig is nine", cap=100).splitlines()) == 2
    told = [f"In Town{place} I sold {place}{place} {thing} to Ferran{place}." for place, thing in enumerate(_THINGS, 1)]
    assert len(summary(*told, cap=900).splitlines()) > 1
    before = "- User: I sold the boat in Oban.\n- User: My cat Solveig is nine."
    assert summary("I planted leeks in Gouda.", previous=before, cap=200, kind="update").startswith(before)


def test_words_go_on_from_the_message_before():
    """A thought over two messages is one line, where the assistant said nothing between."""
    text = summary("the dentist offered a crown", "A: Oh!", "I said no for now", cap=100)
    assert text == "- User: the dentist offered a crown; I said no for now"


def test_a_question_survives_folding():
    """The question stays beside its answer when the summary is folded again, once."""
    text = summary("A: Do you have any allergies?", "Peanuts and kiwi.", cap=100)
    for _ in range(4):
        text = summary("I live in Bergen with my cat Solveig.", previous=text, cap=200, kind="update")
    assert text.count('- User (to "Do you have any allergies?"): Peanuts and kiwi.') == 1


def test_a_request_is_no_question():
    """How the user wants to be answered stays, though it is asked."""
    asked = "Would you please write in full sentences and not in lists?"
    assert asked in summary(*FILLER, asked, "A: I shall.", "I sold the boat in Oban.", cap=100)


@examples(60)
@given(
    st.lists(
        st.sampled_from(
            ["She said yes.", "But not now.", "I met Ada in Rome.", "A: Why?", "Nope.", "It rained. They left.", "9.4"]
        ),
        max_size=14,
    )
)
def test_needs_are_there(lines):
    """For any talk, what a statement needs is there, circles of needs end, and the cap holds."""
    thoughts = bind([*statements_of_summary("\n".join(lines), 0)])
    for at, needed in enumerate(closures(thoughts.needs)):
        assert at in needed
        assert all(0 <= one < len(thoughts.statements) for one in needed)
    text = SUMMARISER.write(task(talk(*lines), cap=40)).text
    assert COUNTER.count(text) <= 40
    assert text == SUMMARISER.write(task(talk(*lines), cap=40)).text


# What is essential


def test_what_is_essential_stays_while_there_is_room():
    """A wish in words that were all used before is kept through any number of folds with room."""
    wish = "What I want is to sing in the choir of the church in Delft again."
    text = None
    for number in range(7):
        lines = [
            f"The choir of the church in Delft sang psalm {number} on Sunday.",
            "A: How did they sing?",
            "I want to hear the choir in Delft again next week." if number % 2 else wish,
            "A: That is a good plan for you, and the choir will be glad of it.",
            f"My voice teacher Hanna gave me {number + 2} songs by Fauré.",
        ]
        text = summary(*lines, previous=text, cap=2000, kind="update" if text else "initial", sections=FOUR)
        assert wish in text
    assert COUNTER.count(text) < 1000


def test_numbers_and_names_said_of_others_stay():
    """What the user says of other people and things stays where there is room."""
    lines = ("Dr Lavelle put the ramipril up to 10.", "A: Noted.", "The twins Cian and Donal are nine.")
    text = summary(*lines, cap=400)
    assert "ramipril up to 10" in text
    assert "Donal are nine" in text


# The user first


def words_of(text, *, assistant):
    lines = [line.removeprefix("- ") for line in text.splitlines() if line.startswith("- ")]
    return sum(len(line.split()) for line in lines if line.startswith("Assistant") == assistant)


@pytest.mark.parametrize("sections", [(), FOUR])
@pytest.mark.parametrize("cap", [120, 300, 900])
def test_the_user_comes_first(cap, sections):
    """Where the user comes first, at least 70 % of the words are the user's, however much the assistant writes."""
    lines = []
    for number in range(12):
        lines.append(f"I bought lamp number {number} in Town{number} and my sister Eva painted it on Monday {number}.")
        advice = (
            f"Shop {number} in Ghent sells brass fitting {number}0 and lacquer {number}1 for lamp {number} at 5 euros."
        )
        lines.append(
            "A: " + " ".join([advice.replace("Ghent", place) for place in ("Ghent", "Bruges", "Liège", "Namur")])
        )
    text = SUMMARISER.write(task(talk(*lines), cap=cap, sections=sections, user_share=0.7)).text
    own, others = words_of(text, assistant=False), words_of(text, assistant=True)
    assert own >= 0.7 * (own + others)
    assert COUNTER.count(text) <= cap


def test_one_thing_of_the_assistant_stays():
    """If the user said next to nothing, there is still room for one sentence of the assistant."""
    text = SUMMARISER.write(
        task(talk("go on", "A: The ferry from Oban to Mull leaves at 07:25."), cap=200, user_share=0.7)
    ).text
    assert "07:25" in text


# What recurs


def test_what_recurs_is_one_line_in_its_newest_words():
    """The same said three times is kept once, in the newest words if these say no less."""
    text = summary(
        "I want to sell the old boat in Oban.",
        "A: I see.",
        "I want to sell the old boat in Oban soon.",
        "A: Yes.",
        "I really want to sell the old wooden boat in Oban soon.",
        cap=200,
    )
    assert text == "- User: I really want to sell the old wooden boat in Oban soon."


def test_an_older_value_stands_before_its_successor():
    """Two values of one thing are in one line, the newer one marked as such."""
    first, second = "My budget for the kitchen is 4,000 euros.", "My budget for the kitchen is 6,500 euros."
    text = summary(first, "A: Noted.", second, cap=200)
    assert text == f"- User: {first} Later: {second}"
    again = summary("I sold the boat in Oban.", previous=text, cap=200, kind="update")
    assert f"- User: {first} Later: {second}" in again


# Sections


@pytest.mark.parametrize(
    ("said", "section"),
    [
        pytest.param("I realized that I only get angry when I am hungry.", 0, id="insight"),
        pytest.param("I cried for the first time since the funeral.", 0, id="feeling"),
        pytest.param("I have type 2 diabetes and take metformin.", 1, id="health"),
        pytest.param("My husband Roy and I live in Leeds these days.", 1, id="life"),
        pytest.param("My aim is to run a marathon in Porto.", 2, id="goal"),
        pytest.param("I'm building a game in Rust with a small team.", 2, id="project"),
        pytest.param("Please keep answers under fifty words.", 3, id="instruction"),
        pytest.param("I can't abide eggs.", 3, id="dislike"),
        pytest.param("I usually walk every morning before breakfast.", 3, id="habit"),
    ],
)
def test_sections_get_what_belongs_in_them(said, section):
    """Each of the four sections gets its own kind of statement."""
    parts = dict(zip(FOUR, summary(said, sections=FOUR).split("## ")[1:], strict=True))
    assert said in parts[FOUR[section]]


@pytest.mark.parametrize(
    ("head", "tail"),
    [
        pytest.param("That is the tree pose.", "I typically hold it for fifty seconds in Utrecht.", id="adverb"),
        pytest.param("Fever burned for eleven days in Girona.", "The girl went deaf because of it.", id="person"),
        pytest.param(
            "The tool reads clicks in the shop.", "We train a deep network in Delft to do this.", id="do-this"
        ),
        pytest.param("The courier comes from Ghent.", "So calls only in Madras and Goa until then.", id="until-then"),
        pytest.param("The forecast model counts referrals.", "The existing one has a bug in Leeds.", id="the-one"),
        pytest.param("The barn floor has fresh lime.", "Is it supposed to stay wet all week?", id="supposed"),
        pytest.param("Odile carved an owl from cedar.", "I had a little doll like this in Skye.", id="like-this"),
        pytest.param("Compress both photographs.", "Then upload them to the Umbra gallery.", id="then"),
    ],
)
def test_an_anaphor_comes_with_what_it_means(head, tail):
    """A sentence whose "it", "this" or "then" means something before it is never there without it."""
    for cap in range(12, 140, 4):
        text = summary(*FILLER, f"{head} {tail}", cap=cap)
        assert tail not in text or head in text, text


def test_words_inside_a_quotation_come_with_its_beginning():
    """What is quoted is not taken for what the speaker says of themselves."""
    said = 'My friend wrote this advert: "Analyst from Umbra. I live in Zagreb and own a castle. Call me in Girona."'
    for cap in range(12, 140, 4):
        text = summary(*FILLER, said, cap=cap)
        assert "Zagreb" not in text or "My friend wrote this advert" in text, text


def test_a_question_is_not_shown_with_what_was_said_before_it():
    """The words in front of a line are of a question that all of the line came after."""
    said = summary("I sold my boat in Skye.", "A: Good. What do you want next?", "Peanuts and kiwi.", cap=200)
    assert not any("I sold" in line and "What do you want" in line for line in said.splitlines())


def test_who_is_meant_comes_with_what_they_did():
    """A "he" is bound to the words that name a person, though a question stands between."""
    said = (*FILLER, "Dr Okafor the surgeon retires in June.", "A: Noted.", "He found a rash from plasters in Leeds.")
    for cap in range(12, 160, 4):
        text = summary(*said, cap=cap)
        assert "He found" not in text or "Okafor" in text, text


def test_how_to_answer_is_a_preference():
    """An instruction for how to answer stands under preferences, not under the situation."""
    sections = ("Current Situation & Context", "Preferences & Patterns")
    said = SUMMARISER.write(task(talk("Please talk to me plainly, no metaphors."), cap=300, sections=sections)).text
    assert said.index("no metaphors") > said.index("## Preferences")


@pytest.mark.parametrize(
    ("said", "reply", "question"),
    [
        pytest.param(
            "I move the rehearsal in Oban to day two.",
            "The hall has a stove then.",
            "I move the rehearsal in Oban to day two.",
            id="bound",
        ),
        pytest.param(
            "Thanks! My aunt repairs harpsichords in Ghent.",
            "Ask about the plectra and the jacks.",
            "My aunt repairs harpsichords in Ghent.",
            id="to-what-tells-most",
        ),
        pytest.param(
            "The harpsichord has 61 keys and quills of crow.",
            "Crow quills for harpsichords get cracks by December.",
            "",
            id="alone",
        ),
    ],
)
def test_a_short_reply_has_the_words_it_is_about(said, reply, question):
    """An assistant's short reply stands beside the user's words, where it does not say itself what it speaks of."""
    found = bind(statements_of_messages(talk(*FILLER, said, f"A: {reply}"), 1)).statements[-1]
    assert (found.question, found.unclear) == (question, False)
    assert question in summary(*FILLER, said, f"A: {reply}", cap=300)


@pytest.mark.parametrize("reply", ["Day two is a good call.", "A classic!", "Two days it is, then.", "Noted."])
def test_a_reply_that_adds_nothing_goes(reply):
    """Praise and echoes of an assistant make no line, however much room there is."""
    assert reply not in summary(*FILLER, "I move the rehearsal in Oban to day two.", f"A: {reply}", cap=400)


@pytest.mark.parametrize(
    ("head", "tail"),
    [
        pytest.param("My application is in a green folder.", "Handed in to the clerk on the 14th.", id="no-object"),
        pytest.param("I sang at the abbey in Sées.", "The stone there is so cold that I shivered.", id="there"),
        pytest.param("I plot tides for the harbour.", "A library like Seaborn will do for this.", id="for-this"),
        pytest.param("I drew the teachers of Clifden.", "I still remember ours throwing chalk.", id="ours"),
    ],
)
def test_a_word_left_out_is_in_the_line(head, tail):
    """Where a sentence leaves out what it is about, the sentence that has it is there."""
    text = summary(*FILLER, f"{head} {tail}", cap=300)
    assert f"{head} {tail}" in text


@pytest.mark.parametrize(
    "said",
    [
        pytest.param("Wanted to see the seals near Oban.", id="wanted-to"),
        pytest.param("Moved to Oban with two harpsichords.", id="nothing-need-follow"),
        pytest.param("Excited for the harpsichord fair in Bruges.", id="feeling"),
        pytest.param("The first customer is the harbour office.", id="the-first-of-a-kind"),
    ],
)
def test_a_sentence_without_its_subject_stands_alone(said):
    """What the speaker did is understood without the sentence before it."""
    thoughts = bind(statements_of_messages(talk(FILLER[0], f"My aunt lives in Ghent. {said}"), 1))
    assert thoughts.needs[-1] == ()


def test_a_weekday_is_nobody():
    """A "he" is not the Friday before it."""
    thoughts = bind(
        statements_of_messages(talk("My friend Gregor sells tea.", "A: Good.", "Cut Friday. He is a friend."), 1)
    )
    assert thoughts.needs[-1] == (0,)


def test_of_two_questions_the_one_with_its_words_is_shown():
    """Where two things were asked at once, an answer stands beside what it answers."""
    asked = "A: Is that your cousin at the harpsichord? Did you ever act in Ghent?"
    found = bind(statements_of_messages(talk(*FILLER, asked, "Yes, at that harpsichord."), 1)).statements[-1]
    assert found.question == "Is that your cousin at the harpsichord?"


@pytest.mark.parametrize("tail", ["Must have been cold for both divers.", "Sounds like the ferry in Oban."])
def test_a_remark_without_a_subject_comes_with_what_it_is_about(tail):
    """A sentence that begins with its verb is bound to the sentence before it."""
    assert bind(statements_of_messages(talk(f"They dived under the ice at Inari. {tail}"), 1)).needs[-1] == (0,)


@pytest.mark.parametrize(
    ("told", "said", "who"),
    [
        pytest.param(
            "A slow release kind exists. You could ask Dr Okafor about the tablets.",
            "I don't want to bother her about that.",
            "Dr Okafor",
            id="name",
        ),
        pytest.param(
            "Your sister may like a small Ghent bag. Shops such as Umbra and Farfetch sell bags.",
            "I want to get her something nice.",
            "sister",
            id="sister",
        ),
    ],
)
def test_who_is_meant_may_be_in_the_words_of_the_other(told, said, who):
    """A "her" has the assistant's sentence beside it that says who she is."""
    found = bind(statements_of_messages(talk(FILLER[0], f"A: {told}", said), 1)).statements[-1]
    assert who in found.question


@pytest.mark.parametrize(
    "tail", ["And some old friends from a choir in Ghent.", "It was like waking up under a waterfall."]
)
def test_an_addition_comes_with_what_it_adds_to(tail):
    """A thing that is only joined on, or compared, is bound to the sentence before it."""
    assert bind(statements_of_messages(talk(f"I sang with Odile at Inari. {tail}"), 1)).needs[-1] == (0,)


def test_what_goes_on_from_an_unclear_reply_is_unclear():
    """An assistant's words are no line where what they go on from was none."""
    said = talk(*FILLER, "ok", 'A: Then the chorus may be four words over it. They are "barrier up".')
    assert all(one.unclear for one in bind(statements_of_messages(said, 1)).statements[-2:])


def test_a_short_answer_to_a_question_stays():
    """One new word is enough, where it was asked for."""
    found = bind(statements_of_messages(talk(*FILLER, "What is page 5 about?", "A: Page 5 is about salt."), 1))
    assert (found.statements[-1].unclear, found.statements[-1].question) == (False, "")


@pytest.mark.parametrize(
    ("reply", "unclear"),
    [
        pytest.param("The loan of the harpsichord runs for 9 weeks.", False, id="counts-something"),
        pytest.param("Noted, point 9.", True, id="alone"),
    ],
)
def test_a_figure_alone_adds_nothing(reply, unclear):
    """A new figure is worth a line with what it counts."""
    said = talk(*FILLER, "We have the loan of a harpsichord for 8 weeks.", f"A: {reply}")
    assert bind(statements_of_messages(said, 1)).statements[-1].unclear == unclear
