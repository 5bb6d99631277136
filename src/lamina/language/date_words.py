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
    "january jan januar jänner enero janvier janeiro gennaio januari",
    "february feb februar febrero février fevrier fevereiro febbraio februari",
    "march mar märz maerz marzo mars março maart",
    "april apr abril avril aprile",
    "may mai mayo maio maggio mei",
    "june jun juni junio juin junho giugno",
    "july jul juli julio juillet julho luglio",
    "august aug agosto août aout augustus",
    "september sep sept septiembre septembre setembro settembre",
    "october oct oktober octubre octobre outubro ottobre",
    "november nov noviembre novembre novembro",
    "december dec dezember diciembre décembre decembre dezembro dicembre",
)
# "8. Mai" is a day, "I have 3. October came" is none.
DOTTED_MONTHS: Final = _words("januar jänner februar märz maerz mai juni juli oktober dezember")
# Months that are also names, verbs or other words: alone they need a word of time before them.
UNSURE_MONTHS: Final = _words("mars march may april june august jan feb mar apr jun jul aug sep sept oct nov dec")
VERBS: Final = frozenset({"may", "march", "mar"})
BEFORE_VERBS: Final = _words("in last since until till during early mid late between by from")

WEEKDAYS: Final = _enumerate(
    "monday mon montag lunes lundi segunda lunedì lunedi maandag",
    "tuesday tue tues dienstag martes mardi terça martedì martedi dinsdag",
    "wednesday mittwoch miércoles miercoles mercredi quarta mercoledì mercoledi woensdag",
    "thursday thu thur thurs donnerstag jueves jeudi quinta giovedì giovedi donderdag",
    "friday fri freitag viernes vendredi sexta venerdì venerdi vrijdag",
    "saturday samstag sonnabend sábado sabado samedi sabato zaterdag",
    "sunday sonntag domingo dimanche domenica zondag",
    first=0,
)

# These mean the day also where no word such as "on" stands before them.
SURE_WEEKDAYS: Final = _words(
    """montag dienstag mittwoch donnerstag freitag samstag sonnabend sonntag lunes martes miércoles
    miercoles jueves viernes sábado sabado lundi mardi mercredi jeudi vendredi samedi
    dimanche lunedì lunedi martedì martedi mercoledì mercoledi giovedì giovedi venerdì venerdi sabato domenica maandag
    dinsdag woensdag donderdag vrijdag zaterdag zondag"""
)
# Portuguese "on": "na segunda", "no sábado".
ON_DAYS: Final = {
    **dict.fromkeys(("na", "nesta", "essa"), _words("segunda terça quarta quinta sexta")),
    **dict.fromkeys(("no", "neste", "esse"), _words("sábado sabado domingo")),
}

DAYS: Final = {
    "yesterday": -1, "today": 0, "tonight": 0, "tomorrow": 1,
    "vorgestern": -2, "gestern": -1, "heute": 0, "morgen": 1, "übermorgen": 2,
    "anteayer": -2, "ayer": -1, "hoy": 0, "mañana": 1,
    "hier": -1, "aujourd": 0, "demain": 1,
    "anteontem": -2, "ontem": -1, "hoje": 0, "amanhã": 1,
    "ieri": -1, "oggi": 0, "stasera": 0, "domani": 1, "dopodomani": 2,
    "eergisteren": -2, "gisteren": -1, "vandaag": 0, "vanavond": 0, "overmorgen": 2,
}  # fmt: skip
# What stands before a day and moves it further away; the last word is the day.
FAR_DAYS: Final = {
    ("pasado", "mañana"): 2, ("après", "-", "demain"): 2, ("apres", "-", "demain"): 2, ("avant", "-", "hier"): -2,
    ("depois", "de", "amanhã"): 2, ("altro", "ieri"): -2, ("dopo", "domani"): 2,
}  # fmt: skip
# In German "hier" is "here".
HERE: Final = frozenset({"hier"})
FRENCH: Final = _words(
    "je j le les est et ai on avec pas une mon ma c suis matin soir nous il elle depuis pour dans au"
)
# "morgen" and "mañana" are mornings after these.
MORNINGS: Final = _words("guten heute gestern am jeden la esta de goede elke iedere")

UNITS: Final = _lookup(
    {
        "day": "day days tag tage tagen día días dia dias jour jours giorno giorni dag dagen",
        "week": "week weeks woche wochen semana semanas semaine semaines settimana settimane weken",
        "weekend": "weekend weekends wochenende",
        "month": "month months monat monate monaten monats mes meses mois mês mese mesi maand maanden",
        "year": "year years jahr jahre jahren jahres año años ans année années ano anos anno anni jaar jaren",
        "decade": "decade decades jahrzehnt jahrzehnte jahrzehnten década décadas decennio decenni",
        "night": "night morning afternoon evening soir noche tarde noite",
    }
)

SEASONS: Final = _lookup(
    {
        3: "spring frühling frühjahr primavera printemps lente voorjaar",
        6: "summer sommer verano été verão estate zomer",
        9: "autumn fall herbst otoño automne outono autunno herfst najaar",
        12: "winter invierno hiver inverno",
    }
)
UNSURE_SEASONS: Final = frozenset({"spring", "fall", "estate", "été", "lente"})

WHICH: Final = _lookup(
    {
        -1: """last past previous letzte letzten letzter letztes letztem vorige vorigen voriges pasado pasada último
            última passado passada dernier dernière scorso scorsa vorig afgelopen""",
        0: """this current diese diesen dieser dieses diesem esta este ce cet cette esse essa nesta neste nessa nesse
            questo questa deze dit""",
        1: """next coming upcoming nächste nächsten nächster nächstes kommende kommenden kommendes próximo próxima
            prochain prochaine prossimo prossima volgende volgend komende komend aanstaande""",
    }
)
WHICH_AFTER: Final = _lookup(
    {
        -1: "pasada pasado passada passado dernière dernier derniere scorsa scorso",
        1: "próxima próximo prochaine prochain prossima prossimo",
    }
)
COMES: Final = {("que", "viene"), ("que", "vem"), ("che", "viene"), ("qui", "vient")}  # behind a day: the next one
AGO: Final = frozenset({"ago", "back", "fa", "geleden", "atrás"})
AGO_BEFORE: Final = frozenset({"vor", "hace", "há", "faz"})
VAGUE: Final = _words(
    """recently lately neulich kürzlich recientemente últimamente récemment dernièrement recentemente ultimamente
    onlangs laatst"""
)

NUMBERS: Final = _enumerate(
    "a an one ein eine einem einer einen un una une um uma uno een één",
    "two zwei dos deux dois duas due twee",
    "three drei tres trois três tre drie",
    "four vier cuatro quatre quatro quattro",
    "five fünf cinco cinq cinque vijf",
    "six sechs seis sei zes",
    "seven sieben siete sept sete sette zeven",
    "eight acht ocho huit oito otto",
    "nine neun nueve neuf nove negen",
    "ten zehn diez dix dez dieci tien",
    "eleven elf once onze undici",
    "twelve zwölf doce douze doze dodici twaalf",
    "thirteen",
    "fourteen vierzehn catorce",
    "fifteen quince quinze quindici vijftien",
) | {"twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "ninety": 90}
# From how many to how many.
FUZZY: Final = {
    "couple": (2, 3), "few": (2, 5), "several": (3, 8), "paar": (2, 5), "einigen": (2, 5), "unos": (2, 5),
    "unas": (2, 5), "quelques": (2, 5), "alguns": (2, 5), "algumas": (2, 5), "enkele": (2, 5),
}  # fmt: skip
ORDINALS: Final = _enumerate(
    "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth", "eleventh", "twelfth"
) | {"fifteenth": 15, "twentieth": 20, "thirtieth": 30, "last": -1}
ORDINAL_ENDINGS: Final = frozenset({"st", "nd", "rd", "th", "er", "º"})

# Of these the second set needs an "of": a course may start in May.
PARTS: Final = _lookup({0: "early anfang début", 1: "mid mitte", 2: "late later ende eind"})
PARTS_OF: Final = PARTS | _lookup(
    {
        0: "beginning start principios início inizio",
        1: "middle mediados meados metà",
        2: "end finales fin fine final einde",
    }
)
SAME_OF: Final = _words("month day year morning afternoon evening night date summer winter")

BEFORE: Final = frozenset({"before", "avant", "antes"})
AFTER: Final = frozenset({"after", "following", "après", "después"})
SINCE: Final = _words("since seit desde depuis dal dallo dalla sinds")
UNTIL: Final = _words("until till bis hasta até fino jusqu tot")
# What holds from a time on, and what is due by one: read as such, but they open no stretch of time by themselves.
FROM: Final = frozenset({"from", "ab", "starting", "vanaf", "dès"})
BY: Final = frozenset({"by", "due", "entro", "uiterlijk"})
FOR: Final = _words("for seit desde depuis da sinds")
IN: Final = frozenset({"in", "within", "en", "em", "binnen"})
# Before a number of days or weeks these can only mean a time to come, of two words the last.
COMING: Final = frozenset({"dans", "tra", "fra", "dentro de", "daqui a"})
DUTCH_UNITS: Final = _words("dagen weken maanden jaren")  # before these "over" means "in"
# After these "in two weeks" is a time and not how long something takes.
LEADS: Final = _words(
    """is are be s re due start starts leave leaves leaving happen happens happening ist sind beginnt startet es son
    será empieza"""
)
BETWEEN: Final = frozenset({"between", "zwischen", "entre", "tussen", "tra", "fra"})
TO: Final = _words("to through thru until till bis hasta au al ao tot - \u2013 \u2014")
AND: Final = frozenset({"and", "or", "und", "oder", "y", "o", "et", "e", "en"})
OF: Final = frozenset({"of", "de", "in", "im", "di", "van", "du", "do"})
THE: Final = _words("the der dem den die das des el la le les il het")
LINKS: Final = _words("de del do da a al au à ao il le ' en")  # between "until" or "before" and the day
GERMAN_THE: Final = _words("am den der dem vom zum bis seit ab")
ROLLING: Final = _words("in over during within for throughout across of from")

# A month or a year follows these; of the second set only when it is written with a capital.
OF_TIME: Final = _words(
    """in last this next past previous coming since until till by during early mid late of before after from between
    through throughout around im en seit desde bis hasta ab em nel depuis dal sinds vanaf até tot dès entro"""
)
OWN: Final = _words("the my our your his her their was is every each")
ON: Final = _words(
    """on by until till since before after from between am el due through seit bis ab desde hasta op le até tot sinds
    depuis dal entro"""
)

HOLIDAYS: Final = _words(
    """valentine valentines christmas xmas halloween thanksgiving easter mother father weihnachten ostern navidad noël
    pâques natal páscoa natale pasqua kerst pasen"""
)
SAME_HOLIDAY: Final = {
    "valentines": "valentine",
    **dict.fromkeys(("xmas", "weihnachten", "navidad", "noël", "natal", "natale", "kerst"), "christmas"),
    **dict.fromkeys(("ostern", "pâques", "páscoa", "pasqua", "pasen"), "easter"),
}
THINGS: Final = _words("words people dollars euros usd calories steps miles km tokens characters lines items")
YEARS: Final = {str(year): year for year in range(1900, 2101)}
