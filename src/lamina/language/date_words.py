"""What words say about time; a word of another language is one more entry."""

from collections.abc import Mapping
from typing import Final, TypeVar

Meaning = TypeVar("Meaning")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _lookup(rows: Mapping[Meaning, str]) -> dict[str, Meaning]:
    return {word: meaning for meaning, row in rows.items() for word in row.split()}


def _enumerate(*rows: str, first: int = 1) -> dict[str, int]:
    return _lookup(dict(enumerate(rows, first)))


MONTHS: Final = _enumerate(
    "january jan januar jänner enero",
    "february feb februar febrero",
    "march mar märz maerz marzo",
    "april apr abril",
    "may mai mayo",
    "june jun juni junio",
    "july jul juli julio",
    "august aug agosto",
    "september sep sept septiembre",
    "october oct oktober octubre",
    "november nov noviembre",
    "december dec dezember diciembre",
)
# "8. Mai" is a day, "I have 3. October came" is none.
DOTTED_MONTHS: Final = _words("januar jänner februar märz maerz mai juni juli oktober dezember")
# Months that are also names, verbs or other words: alone they need a word of time before them.
UNSURE_MONTHS: Final = _words("march may april june august jan feb mar apr jun jul aug sep sept oct nov dec")
VERBS: Final = frozenset({"may", "march", "mar"})
BEFORE_VERBS: Final = _words("in last since until till during early mid late between by from")

WEEKDAYS: Final = _enumerate(
    "monday mon montag lunes",
    "tuesday tue tues dienstag martes",
    "wednesday mittwoch miércoles miercoles",
    "thursday thu thur thurs donnerstag jueves",
    "friday fri freitag viernes",
    "saturday samstag sonnabend sábado sabado",
    "sunday sonntag domingo",
    first=0,
)

DAYS: Final = {
    "yesterday": -1, "today": 0, "tonight": 0, "tomorrow": 1,
    "vorgestern": -2, "gestern": -1, "heute": 0, "morgen": 1, "übermorgen": 2,
    "anteayer": -2, "ayer": -1, "hoy": 0, "mañana": 1,
}  # fmt: skip
# "morgen" and "mañana" are mornings after these.
MORNINGS: Final = _words("guten heute gestern am jeden la esta de")

UNITS: Final = _lookup(
    {
        "day": "day days tag tage tagen día días dia dias",
        "week": "week weeks woche wochen semana semanas",
        "weekend": "weekend weekends wochenende",
        "month": "month months monat monate monaten monats mes meses",
        "year": "year years jahr jahre jahren jahres año años",
        "decade": "decade decades jahrzehnt jahrzehnte jahrzehnten década décadas",
        "night": "night morning afternoon evening",
    }
)

SEASONS: Final = _lookup(
    {
        3: "spring frühling primavera",
        6: "summer sommer verano",
        9: "autumn fall herbst otoño",
        12: "winter invierno",
    }
)
UNSURE_SEASONS: Final = frozenset({"spring", "fall"})

WHICH: Final = _lookup(
    {
        -1: """last past previous letzte letzten letzter letztes letztem vorige vorigen voriges pasado pasada último
            última""",
        0: "this current diese diesen dieser dieses diesem esta este",
        1: "next coming upcoming nächste nächsten nächster nächstes kommende kommenden próximo próxima",
    }
)
WHICH_AFTER: Final = {"pasada": -1, "pasado": -1, "próxima": 1, "próximo": 1}
AGO: Final = frozenset({"ago", "back"})
AGO_BEFORE: Final = frozenset({"vor", "hace"})
VAGUE: Final = frozenset({"recently", "lately", "neulich", "kürzlich", "recientemente", "últimamente"})

NUMBERS: Final = _enumerate(
    "a an one ein eine einem einer einen un una",
    "two zwei dos",
    "three drei tres",
    "four vier cuatro",
    "five fünf cinco",
    "six sechs seis",
    "seven sieben siete",
    "eight acht ocho",
    "nine neun nueve",
    "ten zehn diez",
    "eleven elf once",
    "twelve zwölf doce",
    "thirteen",
    "fourteen vierzehn catorce",
    "fifteen quince",
) | {"twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "ninety": 90}
# From how many to how many.
FUZZY: Final = {
    "couple": (2, 3), "few": (2, 5), "several": (3, 8), "paar": (2, 5), "einigen": (2, 5), "unos": (2, 5),
    "unas": (2, 5),
}  # fmt: skip
ORDINALS: Final = _enumerate(
    "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth", "eleventh", "twelfth"
) | {"fifteenth": 15, "twentieth": 20, "thirtieth": 30, "last": -1}
ORDINAL_ENDINGS: Final = frozenset({"st", "nd", "rd", "th"})

# Of these the second set needs an "of": a course may start in May.
PARTS: Final = _lookup({0: "early anfang", 1: "mid mitte", 2: "late later ende"})
PARTS_OF: Final = PARTS | _lookup({0: "beginning start principios", 1: "middle mediados", 2: "end finales fin"})
SAME_OF: Final = _words("month day year morning afternoon evening night date summer winter")

BEFORE: Final = frozenset({"before"})
AFTER: Final = frozenset({"after", "following"})
SINCE: Final = frozenset({"since", "seit", "desde"})
UNTIL: Final = frozenset({"until", "till", "bis", "hasta"})
# What holds from a time on, and what is due by one: read as such, but they open no stretch of time by themselves.
FROM: Final = frozenset({"from", "ab", "starting"})
BY: Final = frozenset({"by", "due"})
FOR: Final = frozenset({"for", "seit", "desde"})
IN: Final = frozenset({"in", "within", "en", "dentro"})
# After these "in two weeks" is a time and not how long something takes.
LEADS: Final = _words(
    """is are be s re due start starts leave leaves leaving happen happens happening ist sind beginnt startet es son
    será empieza"""
)
BETWEEN: Final = frozenset({"between", "zwischen", "entre"})
TO: Final = _words("to through thru until till bis hasta - \u2013 \u2014")
AND: Final = frozenset({"and", "or", "und", "oder", "y", "o"})
OF: Final = frozenset({"of", "de", "in", "im"})
THE: Final = _words("the der dem den die das des el la")
GERMAN_THE: Final = _words("am den der dem vom zum bis seit ab")
ROLLING: Final = _words("in over during within for throughout across of from")

# A month or a year follows these; of the second set only when it is written with a capital.
OF_TIME: Final = _words(
    """in last this next past previous coming since until till by during early mid late of before after from between
    through throughout around im en seit desde bis hasta ab"""
)
OWN: Final = _words("the my our your his her their was is every each")
ON: Final = _words("on by until till since before after from between am el due through seit bis ab desde hasta")

HOLIDAYS: Final = _words("valentine valentines christmas xmas halloween thanksgiving easter mother father")
THINGS: Final = _words("words people dollars euros usd calories steps miles km tokens characters lines items")
YEARS: Final = {str(year): year for year in range(1900, 2101)}
