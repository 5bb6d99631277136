"""The numbers that a text has, in figures or in words, made comparable: 54k, 54,000 and fifty-four thousand are one."""

import re
from collections.abc import Iterator, Mapping

from lamina.language.words import plain

_SMALL: Mapping[str, int] = {
    word: number
    for number, words in enumerate(
        (
            "zero null cero", "one ein eins eine uno una un", "two zwei dos deux", "three drei tres trois",
            "four vier cuatro quatre", "five funf cinco cinq", "six sechs seis", "seven sieben siete sept",
            "eight acht ocho huit", "nine neun nueve neuf", "ten zehn diez dix", "eleven elf once onze",
            "twelve zwolf doce douze dozen", "thirteen dreizehn trece treize", "fourteen vierzehn catorce quatorze",
            "fifteen funfzehn quince quinze", "sixteen sechzehn dieciseis seize", "seventeen siebzehn diecisiete",
            "eighteen achtzehn dieciocho", "nineteen neunzehn diecinueve",
        )
    )
    for word in words.split()
}  # fmt: skip
_TENS: Mapping[str, int] = {
    word: number * 10
    for number, words in enumerate(
        ("twenty zwanzig veinte vingt", "thirty dreissig dreißig treinta trente", "forty vierzig cuarenta quarante",
         "fifty funfzig cincuenta cinquante", "sixty sechzig sesenta soixante", "seventy siebzig setenta",
         "eighty achtzig ochenta", "ninety neunzig noventa"), 2,
    )
    for word in words.split()
}  # fmt: skip
_SCALES: Mapping[str, int] = {
    "hundred": 100, "hundert": 100, "cien": 100, "cent": 100, "thousand": 1_000, "tausend": 1_000, "mil": 1_000,
    "mille": 1_000, "k": 1_000, "grand": 1_000, "million": 1_000_000, "mio": 1_000_000, "m": 1_000_000,
}  # fmt: skip
_FIGURES = re.compile(r"\d{1,3}(?:[,.'\u202f\u00a0 ]\d{3})+(?![\d])|\d+(?:[.,]\d+)?")
_TOKEN = re.compile(r"\d[\d.,'\u202f\u00a0]*\d|\d|[^\W\d_]+")
_TIME = re.compile(r"\b(\d{1,2})(?:[:.h](\d{2}))?\s*(a\.?m|p\.?m|uhr|o'clock|h)?(?![\d.])", re.IGNORECASE)
_ORDINAL = re.compile(r"(?<=\d)(?:st|nd|rd|th)\b", re.IGNORECASE)
_HOURS = 12
_TEN, _TWENTY, _HUNDRED, _THOUSAND = 10, 20, 100, 1_000
_JOINING = frozenset(("and", "und", "y", "et"))


def numbers_in(text: str) -> frozenset[float]:
    """The numbers of a text."""
    return frozenset(_numbers(plain(_ORDINAL.sub("", text))))


def _numbers(text: str) -> Iterator[float]:
    """Each number: thousands that are done, and what is being counted of the next."""
    whole, part, counting = 0.0, 0.0, False
    for token in _TOKEN.findall(text):
        scale, number = _SCALES.get(token), _SMALL.get(token, _TENS.get(token))
        if scale is not None and counting:
            whole, part = (whole + part * scale, 0.0) if scale >= _THOUSAND else (whole, part * scale)
        elif number is not None and counting and _fits(part, number):
            part += number
        elif token not in _JOINING or not counting:
            if counting:
                yield whole + part
            counting = number is not None or token[0].isdigit()
            whole, part = 0.0, _figure(token) if token[0].isdigit() else float(number or 0)
    if counting:
        yield whole + part


def _fits(part: float, number: int) -> bool:
    """Whether a number word goes on with the one before it: nine hundred fifty, twenty-one."""
    return (
        not part
        or (part >= _HUNDRED and not part % _HUNDRED)
        or (part % _HUNDRED >= _TWENTY and number < _TEN and not part % _TEN)
    )


def _figure(token: str) -> float:
    found = _FIGURES.match(token)
    plain_figures = found.group() if found else token
    if re.fullmatch(r"\d{1,3}(?:[,.'\u202f\u00a0 ]\d{3})+", plain_figures):
        return float(re.sub(r"\D", "", plain_figures))
    return float(plain_figures.replace(",", "."))


def times_in(text: str) -> frozenset[float]:
    """The hours of the times of day in a text, on a clock of 24: 9pm is 21; minutes count as their number."""
    found: set[float] = set()
    for hour, minutes, half in _TIME.findall(text):
        late = half.casefold().startswith("p") and int(hour) < _HOURS
        if minutes or half:
            found |= {float(int(hour) + (_HOURS if late else 0)), float(minutes or 0)}
    return frozenset(found)
