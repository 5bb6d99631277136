"""Words by which a sentence shows who it is about, and whether it is meant: asked of drafts that a model made."""

import re
from collections.abc import Iterator, Mapping
from functools import cached_property

from lamina.language.words import is_unspaced


class Cue:
    """Any of some words or patterns, in any case; `_` is a space. Read when it is first asked for."""

    def __init__(self, words: str) -> None:
        self._words = words

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """Words of scripts without spaces have no edges."""
        every = [word.replace("_", r"\s+") for word in self._words.split()]
        spaced = [word for word in every if not is_unspaced(word)]
        whole = [rf"(?<![^\W_])(?:{'|'.join(spaced)})\b"] if spaced else []
        return re.compile("|".join((*whole, *(word for word in every if is_unspaced(word)))), re.IGNORECASE)

    def search(self, text: str) -> re.Match[str] | None:
        return self.pattern.search(text)

    def match(self, text: str) -> re.Match[str] | None:
        return self.pattern.match(text)

    def finditer(self, text: str) -> Iterator[re.Match[str]]:
        return self.pattern.finditer(text)


FIRST_PERSON = Cue(
    r"""
    i i'm i've i'd i'll im ive me my mine myself we we're we've our ours us ich mir mich mein meine meinem meinen
    meiner wir uns unser unsere yo mi mis mí me_llamo soy estoy tengo vivo trabajo nosotros nuestro nuestra je
    j'\w+ moi mon ma mes nous notre io mio mia sono ho abito lavoro noi eu meu minha sou tenho moro ik mijn wij
    ons 私 我 僕 俺
    """
)
SPEAKER = Cue(  # as the subject of a sentence
    r"""
    i i'm i've i'd i'll im ive we we're we've we'll ich wir yo soy estoy tengo vivo trabajo nosotros je j'\w+ nous
    io sono ho noi eu sou tenho ik wij 私 我 僕 俺
    """
)
PERSON = r"""
    sister brother sibling wife husband spouse partner girlfriend boyfriend fiancée? fiancee? mother mum mom
    father dad parents? son daughter kids? child(?:ren)? baby twins? friend boss manager colleague coworker
    co-worker teammate teacher coach doctor therapist neighbou?r roommate flatmate landlord uncle aunt cousin
    nephew niece grand(?:ma|pa|mother|father|son|daughter) gran in-laws? (?:mother|father|sister|brother)-in-law
    client customer dog cat puppy kitten horse ex bruder schwester frau mann ehefrau ehemann mutter mama vater
    papa sohn tochter kind(?:er)? freund(?:in)? chef(?:in)? kolleg(?:e|in) nachbar(?:in)? lehrer(?:in)? oma opa
    hund katze hermana hermano mujer esposa esposo marido madre padre hijo hija hijos jefe jefa amigo amiga novio
    novia perro gato sœur soeur frère femme mari mère père fils fille enfants? patron(?:ne)? amie? copain copine
    chien chat sorella fratello moglie figlio figlia capo irmã irmão mulher filho filha chefe zus broer vrouw
    moeder vader zoon dochter baas vriend(?:in)?
    """
_MY = "my|our|mein|meine|meiner|unser|unsere|mi|mis|mon|ma|mes|mio|mia|meu|minha|mijn"
OTHER = Cue(
    rf"(?:{_MY})_(?:\w+_)?(?:{'|'.join(PERSON.split())})"
    r""" he she they he's she's they're his her their him them er_ist er_hat er_\w+t sie_ist sie_hat su il_est elle ils
    elles lui lei ele ela hij zij 彼 彼女 他 她
    """
)
NAMED = re.compile(
    r"\A\W*(?:and |but |so |well |btw |also )?"
    r"(?P<who>(?!I\b|It\b|This\b|That\b|There\b|We\b|My\b|Our\b|You\b|What\b|The\b)"
    r"[A-Z\u00c0-\u00de]\w+(?: [A-Z\u00c0-\u00de]\w+)?)(?:'s)? (?:from \w+ )?"
    r"(?:is|was|are|were|has|had|will|wants|does|did|can|likes|loves|hates|lives|works|\w{2,}(?:[^s\W]s|ed))\b"
)
THING = re.compile(
    r"\A\W*(?:the|this|that|these|those|it|it's|der|die|das|el|la|los|las|le|les|il|lo)\b", re.IGNORECASE
)

NEGATION = Cue(
    r"""
    no not never none nobody nothing neither nor without cannot \w+n't dont doesnt didnt isnt cant wont
    nicht kein keine keinen keinem keiner nie niemals ohne nunca ni jamás sin ne n'\w+ pas jamais sans aucun
    aucune non mai senza não nunca sem niet geen nooit ない ません 不 没 沒
    """
)
NO_NEGATION = Cue(  # words behind a negation that make it something else
    r"""
    only just before after until till more_than less_than later_than earlier_than fewer_than wait forget let doubt
    problem worries idea matter exceptions? nur vor nach mehr_als weniger_als más_de antes solo plus_de avant
    """
)
ENDED = Cue(
    r"""
    dropped ditched abandoned cancelled canceled sold replaced got_rid away_from gave_up
    no_longer not any_?more anymore any_longer used_to stopped stop quit left gave_up former formerly previously
    ended over moved switched ex-?\w* was were nicht_mehr früher damals aufgehört ya_no antes dejé solía ne plus
    autrefois arrêté non_più prima não_mais antes niet_meer vroeger もう 不再
    """
)
PAST = Cue(
    r"""
    back_in i_lived we_lived i_worked we_worked i_was_an? i_was_in i_was_at i_had_been ich_war ich_wohnte
    used_to formerly previously back_then when_i_was when_we_were raised grew_up growing_up
    as_a_(?:kid|child|teen\w*) once_was was_once früher damals als_kind antes solía era autrefois avant j'étais
    prima ero antigamente vroeger
    """
)
LEFT = Cue(r"""
    left leaving quit quitting sold dropped ditched stopped gave_up ex- former no_longer nicht_mehr ya_no
    """)
UNREAL = Cue(
    r"""
    if imagine suppose supposing pretend hypothetically let's_say lets_say say_i what_if as_if as_though wish
    might i_may we_may may_be could maybe perhaps possibly would i'd we'd role-?play wenn falls stell_dir_vor
    angenommen vielleicht könnte wäre würde si imagina supongamos ojalá quizás? tal_vez podría imaginez peut-être
    se forse magari talvez misschien als もし 如果 也许
    """
)
INTENDED = Cue(  # of where and what one is: thought of, not so yet
    r"""
    thinking_(?:about|of) considering consider planning plan_to hoping hope_to want_to wants_to wanna dream(?:ing)?_of
    would_love i'd_love going_to applying applied looking_(?:for|at|into) interview\w* offer(?:ed)? about_to
    überlege möchte will_nach pensando quiero envisage veux
    """
)
DISLIKED = Cue(r"(?:dis)?like[sd]? hat(?:e|es|ed|ing) avoid\w* \w*allerg\w* intoleran\w* loathe\w* despise\w* sick_of")
OTHER_IS = Cue("is are was she's he's shes hes they're ist sind es est sono è é")
NAMED_SO = Cue("called named hei(?:ßt|sst) llama appelle chiama chama heet")
DENIED_DISLIKE = Cue(r"(?:not|never|\w+n't)_(?:\w+_){0,3}(?:allerg\w*|hat(?:e|es|ed)|dislik\w+|intoleran\w*|mind)")
WISHES = Cue(
    r"""
    prefer like rather love want appreciate lieber gern bevorzuge prefiero preferiría gustaría préfère
    """
)
QUESTION = Cue(
    r"""
    do does did is are am was were can could should would shall will have has had what where who whom whose which
    why how when any anyone was_ist wer wie wo wann warum kann soll sollte ist sind hast qué quién cómo dónde
    cuándo por_qué debería est-ce qui où comment pourquoi quand dois-je che chi come dove perché quando
    """
)
REQUEST = Cue(
    r"""
    please (?:can|could|would|will)_you (?:könntest|kannst|würdest)_du bitte puedes podrías por_favor peux-tu
    pouvez-vous pourriez-vous
    """
)
CONTRAST = Cue(r"""
    only just rather instead now then nur sondern jetzt sino solo sólo ahora mais maintenant
    """)
CLAUSE = re.compile(
    r"[,;:.!?()\n\u3001\u3002\uff0c\uff1b]+|\s[-\u2013\u2014]+\s"
    r"|\b(?:but|however|although|though|because|so that|while|whereas|now|aber|doch|weil|jetzt|sondern|pero|porque"
    r"|ahora|sino|mais|maintenant|ma|mas|maar)\b"
    r"|\b(?:and|und|y|et|e|en)\s+(?=(?:i|i'm|my|we|he|she|they|ich|wir|mein|meine|yo|mi|je|mon|ma|io|eu|ik)\b)",
    re.IGNORECASE,
)

AVOIDS = Cue(
    r"""
    allerg\w* intoleran\w* dislikes? hates? avoid\w* excluded? restrict\w* forbidden never no not without aversion
    """
)
NOTHING = frozenset(
    ("no", "none", "never", "false", "nothing", "zero", "0", "not", "nein", "nie", "kein", "nunca", "non")
)
YES = frozenset(("yes", "true", "ja", "s\u00ed", "si", "oui", "sim"))

# What a sentence must have for a key to be meant; of keys that are not here, a sentence need not say the name.
_WORK = r"""
    work\w* job \w*employ\w* join\w* switch\w* left hired hire role position career boss company
    start\w*_(?:at|with|in) intern\w* contract\w* i'?m_an?_.*(?:at|for|with) i_am_an?_.*(?:at|for|with) arbeite\w*
    firma bei trabaj\w* empresa travaill\w* lavor\w* werk\w* 働 勤 工作
    """
KEY_CUES: Mapping[str, Cue] = {
    "location": Cue(
        r"""
    liv(?:e|es|ing|ed) based located resid\w+ mov(?:e|ed|ing) relocat\w+ from home stay(?:ing)? settl\w+ am_in
    i'?m_in we'?re_in here wohn\w* leb\w+ ziehe\w* gezogen umgezogen viv\w+ resid\w+ mud\w+ estoy habit\w+
    déménag\w+ abit\w+ mor\w+ woon\w* verhuisd 住 引っ越 搬
    """
    ),
    "hometown": Cue(r"""
    from born grew raised home komme\w* geboren nac\w+ soy viens née? vengo nat[oa] 生 出身
    """),
    "employer": Cue(_WORK),
    "job": Cue(
        _WORK + r"""
    am_an? i'?m_an? am_the i'?m_the i'?m i_am as_an? teach\w* run manage\w* own lead study student freelanc\w*
    retired self-employed bin soy suis sono sou ben da
    """
    ),
    "age": Cue(r"""
    years? yrs? yo old age aged turn\w* i'?m i_am jahre? alt años ans anni anos jaar born
    """),
    "birthday": Cue(r"""
    turn\w* birth\w* born bday b-day geb\w+ cumplea\w* nac\w+ anniv\w+ née? nat[oa] compleann\w+ jarig 生日 誕生
    """),
    "diet": Cue(
        r"""
    eat\w* ate diet\w* vegan vegetarian vegitarian pesc\w+ plant-based kosher halal keto paleo gluten lactose
    dairy meat pork beef fish shellfish food meals? cook\w* sugar alcohol carbs? no esse?\w* vegetari\w+
    com[oe]\w* carne mang\w+ viande carne eet 食 吃
    """
    ),
    "allergy": Cue(
        r"""
    allerg\w* alérgic\w* intoleran\w* react\w* anaphyla\w* epipen hives can'?t_(?:eat|have|touch)
    cannot_(?:eat|have) アレルギー 过敏
    """
    ),
    "budget": Cue(
        r"""
    budget\w* spend\w* afford\w* limit\w* cap max\w* under most more_than cost\w* pay\w* price\w* up_to a_month
    per presupuesto gast\w+ ausgeben höchstens dépens\w+ 予算 预算
    """
    ),
    "nationality": Cue(r"""
    i'?m i_am from citizen\w* passport national\w* born bin soy suis sono sou ben
    """),
    "native language": Cue(r"""
    native\w* mother first grew mutter\w+ materna maternelle madrelingua moedertaal
    """),
    "time zone": Cue("time_?zones? utc\\S* gmt\\S* c?est [cemp][sd]?t zeitzone zona_horaria fuseau"),
    "relationship status": Cue(
        r"""
    married single divorced engaged widow\w* separated relationship partner husband wife dating verheiratet ledig
    geschieden casad\w+ solter\w+ mariée? célibataire
    """
    ),
}  # fmt: skip
ALSO_KNOWN_AS: Mapping[str, str] = {
    "city": "location", "residence": "location", "home": "location", "address": "location", "country": "location",
    "birthplace": "hometown", "company": "employer", "workplace": "employer", "occupation": "job", "profession": "job",
    "role": "job", "date of birth": "birthday", "birth date": "birthday", "allergies": "allergy",
    "timezone": "time zone",
    "marital status": "relationship status", "first name": "name", "full name": "name", "nickname": "name",
    "last name": "name", "surname": "name", "user name": "name", "preferred name": "name",
}  # fmt: skip
# Keys that say something of a person, with what may be called so beside the key itself: my title is, our place is in.
OF_PERSON: Mapping[str, frozenset[str]] = {
    "name": frozenset(("nickname", "pronouns", "handle")), "age": frozenset(), "birthday": frozenset(("bday", "birth")),
    "location": frozenset(("home", "place", "flat", "house", "apartment", "address", "base", "city", "town", "family")),
    "hometown": frozenset(("home", "town", "city", "birthplace", "family")), "nationality": frozenset(("passport",)),
    "job": frozenset(("title", "position", "role", "profession", "occupation", "work", "day")),
    "employer": frozenset(("company", "work", "workplace", "firm", "employer", "job")),
    "native language": frozenset(("tongue", "mother")), "relationship status": frozenset(("status",)),
    "diet": frozenset(("doctor", "food", "eating")), "allergy": frozenset(("allergies",)),
}  # fmt: skip
OWN_THING = re.compile(
    r"\A\W*(?:and |but |so |btw |also )?(?:my|our)\s+(?P<thing>(?:[\w-]+\s+){0,3}?[\w-]+)\s+"
    r"(?:is|are|was|has|had|can|can't|cannot|does|doesn't|\w{2,}[^s\W]s)\b",
    re.IGNORECASE,
)
SINGLE = frozenset(("name", "location", "age", "birthday", "employer", "time zone", "hometown", "native language"))
NAME_SAID = Cue(
    r"""
    name name's names (?:i'm|i_am|im|get|being)_called call_me calls_me goes_by go_by known_as nickname
    hei(?:ße|sse|ßt) mein_name nenn_mich
    llam[oa] nombre appelle nom prénom chiamo chiama nome chamo chama heet naam 名前 名字 叫 申します
    """
)
AS_NAME = (
    r"(?:\bi'?m|\bi am|\bthis is|\bit'?s|\bit is|\bich bin|\bsoy|\bje suis|\bsono|\bsou|\bik ben|我是)"
    r"\s+(?:just )?{name}\b(?!'s)"
)
NAME_HERE = r"(?:\A\W*|[,.!]\s*|^(?:hey|hi|hello)\W+){name} here\b|^\W*[-\u2013\u2014]\s*{name}\W*$"
NO_NAMES = frozenset(
    """
    american atheist australian austrian belgian brazilian british buddhist canadian catholic ceo cfo chinese cto danish
    dutch english finnish french german greek hindu indian irish italian japanese jewish korean mexican mormon muslim
    norwegian pakistani polish portuguese protestant russian scottish spanish swedish swiss turkish ukrainian welsh
    afraid alone angry anxious ashamed at available awake aware back bad better bored broke busy confused cool
    cold curious dead depressed done down exhausted fine free full glad good great grateful guilty happy here home
    hopeful hot hungry in interested kidding late left lonely lost lucky mad married new nervous not off ok okay
    old on open out over pregnant proud ready relieved sad safe scared self-employed serious short sick single
    sleepy sober sorry stressed stuck sure surprised tall thinking thirsty tired torn trying unemployed unsure
    upset vegan vegetarian well worried young
    """.split()  # noqa: SIM905 - words read best
)
_ENDINGS = ("ed", "ing", "ous", "ful", "ive", "less", "able", "ible")


def may_be_name(word: str) -> bool:
    """Whether a word behind "I'm", written without a capital, may be a name."""
    return word not in NO_NAMES and not word.endswith(_ENDINGS)
