"""How languages in scripts of their own speak of days, one table a language.

`forms` are regular expressions in which `<days>`, `<weekdays>` and so on stand for one of the words of that list. The
kind of a form says what it means, see `date_scripts`. A form that stands first counts where two begin at one place.
"""

# ruff: noqa: E501, RUF001 - letters of other scripts, in long lists
from collections.abc import Mapping
from typing import Final, NamedTuple

Amount = tuple[str, int]  # unit and number
_NONE: Final[Mapping[str, int]] = {}


class DateTable(NamedTuple):
    """The words and forms of one language."""

    days: Mapping[str, int]  # days from today
    weekdays: Mapping[str, int]  # Monday is 0
    weeks: Mapping[str, int]  # weeks from this one
    spans: Mapping[str, tuple[str, int]]  # a unit of the calendar, and how many from this one
    ends: Mapping[str, tuple[str, int]]  # the last days of one
    numbers: Mapping[str, int]
    units: Mapping[str, str]
    forms: tuple[tuple[str, str], ...]
    until: tuple[str, str]  # right before a phrase, or right behind it: something ends then
    since: tuple[str, str]  # something begins then
    months: Mapping[str, int] = _NONE
    amounts: Mapping[str, Amount] = {}  # a number of units in one word
    past: str = ""  # in the sentence: a day that may be before or after today is before


def _rows(rows: Mapping[int, str]) -> dict[str, int]:
    return {word: meaning for meaning, row in rows.items() for word in row.split(", ")}


def _units(rows: Mapping[str, str]) -> dict[str, str]:
    return {word: unit for unit, row in rows.items() for word in row.split(", ")}


def _spans(rows: Mapping[tuple[str, int], str]) -> dict[str, tuple[str, int]]:
    return {word: span for span, row in rows.items() for word in row.split(", ")}


def _count(*rows: str, first: int = 1) -> dict[str, int]:
    return _rows(dict(enumerate(rows, first)))


_HAN_NUMBERS: Final = _count("一", "二, 两, 兩, 两个", "三", "四", "五", "六", "七", "八", "九", "十")
_HAN_DATE: Final = r"(?:(?P<year>\d{4})年\s*)?(?P<month>\d{1,2}|<numbers>)月(?:份)?(?:\s*(?P<day>\d{1,2})[日号號])?"

JAPANESE: Final = DateTable(
    days=_rows({
        -2: "一昨日, おととい", -1: "昨日, きのう, 昨夜, 昨晩", 0: "今日, きょう, 今夜, 今晩, 本日, 今朝",
        1: "明日, あした, あす, 明晩", 2: "明後日, あさって", 3: "明々後日, しあさって",
    }),
    weekdays=_count("月", "火", "水", "木", "金", "土", "日", first=0),
    weeks=_rows({-2: "先々週", -1: "先週, 前の週", 0: "今週", 1: "来週, 次の週", 2: "再来週"}),
    spans=_spans({
        ("week", -2): "先々週", ("week", -1): "先週", ("week", 0): "今週", ("week", 1): "来週", ("week", 2): "再来週",
        ("month", -1): "先月", ("month", 0): "今月", ("month", 1): "来月", ("month", 2): "再来月",
        ("year", -2): "一昨年", ("year", -1): "去年, 昨年", ("year", 0): "今年", ("year", 1): "来年",
        ("weekend", -1): "先週末", ("weekend", 0): "今週末, 週末", ("weekend", 1): "来週末",
    }),
    ends=_spans({("month", 0): "今月末, 月末", ("month", 1): "来月末", ("year", 0): "年末, 今年の末"}),
    numbers=_HAN_NUMBERS,
    units=_units({"day": "日", "week": "週間", "month": "か月, ヶ月, カ月, ケ月, ヵ月", "year": "年"}),
    forms=(
        ("week", r"<weeks>(?:の|、)?\s*<weekdays>曜日?"), ("end", "<ends>"), ("span", "<spans>"), ("day", "<days>"),
        ("date", _HAN_DATE), ("ago", r"<number>\s*<units>前"), ("later", r"<number>\s*<units>後"),
        ("weekday", "<weekdays>曜日?"),
    ),
    until=("", "まで"), since=("", "から|以来|以降"),
)  # fmt: skip

CHINESE: Final = DateTable(
    days=_rows({
        -3: "大前天", -2: "前天", -1: "昨天, 昨晚, 昨日", 0: "今天, 今晚, 今早, 今日", 1: "明天, 明晚, 明早, 明日",
        2: "后天, 後天", 3: "大后天, 大後天",
    }),
    weekdays=_count("一", "二", "三", "四", "五", "六", "日, 天", first=0),
    weeks=_rows({
        -1: "上周, 上週, 上星期, 上个星期, 上個星期, 上礼拜, 上个礼拜",
        0: "这周, 這週, 本周, 本週, 这星期, 这个星期, 這個星期, 这礼拜",
        1: "下周, 下週, 下星期, 下个星期, 下個星期, 下礼拜, 下个礼拜, 下禮拜", 2: "下下周, 下下週, 下下个星期",
    }),
    spans=_spans({
        ("weekend", -1): "上周末, 上週末", ("weekend", 0): "这周末, 這週末, 本周末, 周末, 週末",
        ("weekend", 1): "下周末, 下週末",
        ("week", -1): "上周, 上週, 上星期, 上个星期, 上個星期", ("week", 0): "这周, 這週, 本周, 本週, 这个星期",
        ("week", 1): "下周, 下週, 下星期, 下个星期, 下個星期, 下礼拜", ("week", 2): "下下周, 下下週",
        ("month", -1): "上个月, 上個月", ("month", 0): "这个月, 這個月, 本月", ("month", 1): "下个月, 下個月",
        ("year", -2): "前年", ("year", -1): "去年", ("year", 0): "今年", ("year", 1): "明年", ("year", 2): "后年",
    }),
    ends=_spans({("month", 0): "月底, 这个月底, 本月底", ("month", 1): "下个月底, 下月底", ("year", 0): "年底, 今年年底"}),
    numbers=_HAN_NUMBERS,
    units=_units({
        "day": "天", "week": "周, 週, 个星期, 個星期, 个礼拜", "month": "个月, 個月", "year": "年",
    }),
    forms=(
        ("week", "<weeks><weekdays>(?!天)"), ("monthday", r"(?:下个月|下個月|下月)(?P<day>\d{1,2})[日号號]"),
        ("end", "<ends>"), ("span", "<spans>"), ("day", "<days>"), ("date", _HAN_DATE),
        ("ago", r"<number>\s*<units>(?:之前|以前|前)"), ("later", r"<number>\s*<units>(?:之后|以后|之後|後|后)"),
        ("weekday", "(?:周|週|星期|礼拜|禮拜)<weekdays>"),
    ),
    until=("直到|到|截至", "之前|以前|前|为止|截止"), since=("从|自从|自|從", "以来|起|开始"),
)  # fmt: skip

KOREAN: Final = DateTable(
    days=_rows({
        -2: "그저께, 그제, 엊그제", -1: "어제, 어젯밤", 0: "오늘, 오늘밤", 1: "내일", 2: "모레, 내일모레", 3: "글피",
    }),
    weekdays=_count("월요일", "화요일", "수요일", "목요일", "금요일", "토요일", "일요일", first=0),
    weeks=_rows({
        -1: "지난 주, 지난주, 저번 주, 저번주", 0: "이번 주, 이번주, 금주", 1: "다음 주, 다음주", 2: "다다음 주, 다다음주",
    }),
    spans=_spans({
        ("weekend", -1): "지난 주말, 지난주말", ("weekend", 0): "이번 주말, 이번주말, 주말",
        ("weekend", 1): "다음 주말, 다음주말",
        ("week", -1): "지난 주, 지난주, 저번 주", ("week", 0): "이번 주, 이번주", ("week", 1): "다음 주, 다음주",
        ("week", 2): "다다음 주, 다다음주",
        ("month", -1): "지난달, 지난 달, 저번 달", ("month", 0): "이번 달, 이번달", ("month", 1): "다음 달, 다음달",
        ("year", -2): "재작년", ("year", -1): "작년, 지난해", ("year", 0): "올해, 금년", ("year", 1): "내년",
    }),
    ends=_spans({("month", 0): "이번 달 말, 월말, 이달 말", ("month", 1): "다음 달 말", ("year", 0): "연말, 올해 말"}),
    numbers=_count("한, 일", "두, 이", "세, 삼, 석", "네, 사, 넉", "다섯, 오", "여섯, 육", "일곱, 칠", "여덟, 팔", "아홉, 구", "열, 십"),
    units=_units({"day": "일", "week": "주일, 주", "month": "달, 개월", "year": "년, 해"}),
    amounts={
        "하루": ("day", 1), "이틀": ("day", 2), "사흘": ("day", 3), "나흘": ("day", 4), "열흘": ("day", 10),
        "일주일": ("week", 1), "보름": ("day", 15), "반년": ("month", 6),
    },
    forms=(
        ("week", r"<weeks>\s*<weekdays>"), ("end", "<ends>"), ("span", "<spans>"), ("day", "<days>"),
        ("date", r"(?:(?P<year>\d{4})년\s*)?(?P<month>\d{1,2})월(?:\s*(?P<day>\d{1,2})일)?"),
        ("ago", r"(?:<amounts>|<number>\s*<units>)\s*전(?!까지)"), ("later", r"(?:<amounts>|<number>\s*<units>)\s*(?:후|뒤)"),
        ("weekday", "<weekdays>"),
    ),
    until=("", r"\s?(?:전)?까지"), since=("", r"\s?(?:부터|이후|이래)"),
)  # fmt: skip

RUSSIAN: Final = DateTable(
    days=_rows({-2: "позавчера", -1: "вчера", 0: "сегодня", 1: "завтра", 2: "послезавтра"}),
    weekdays=_count(
        "понедельник, понедельника, понедельнику, понедельником", "вторник, вторника, вторнику, вторником",
        "среда, среду, среды, среде, средой", "четверг, четверга, четвергу, четвергом",
        "пятница, пятницу, пятницы, пятнице, пятницей", "суббота, субботу, субботы, субботе, субботой",
        "воскресенье, воскресенья, воскресенью", first=0,
    ),
    weeks=_rows({
        -1: "прошлый, прошлую, прошлое, прошлого, прошлой", 0: "этот, эту, это, этого, этой",
        1: "следующий, следующую, следующее, следующего, следующей, будущий, будущую",
    }),
    spans=_spans({
        ("weekend", -1): "прошлые выходные, прошлых выходных", ("weekend", 0): "эти выходные, этих выходных, выходные, выходных",
        ("weekend", 1): "следующие выходные, следующих выходных",
        ("week", -1): "прошлой неделе, прошлую неделю, прошлой недели", ("week", 0): "этой неделе, эту неделю, этой недели",
        ("week", 1): "следующей неделе, следующую неделю, следующей недели",
        ("month", -1): "прошлом месяце, прошлый месяц", ("month", 0): "этом месяце, этот месяц",
        ("month", 1): "следующем месяце, следующий месяц, следующего месяца",
        ("year", -1): "прошлом году, прошлый год", ("year", 0): "этом году, этот год",
        ("year", 1): "следующем году, будущем году, следующий год, следующего года",
    }),
    ends=_spans({
        ("week", 0): "конца недели, конец недели, конце недели", ("month", 0): "конца месяца, конец месяца, конце месяца",
        ("year", 0): "конца года, конец года, конце года",
    }),
    numbers=_count("один, одну, одна", "два, две, пару", "три", "четыре", "пять", "шесть", "семь", "восемь", "девять", "десять"),
    units=_units({
        "day": "день, дня, дней", "week": "неделю, недели, недель", "month": "месяц, месяца, месяцев",
        "year": "год, года, лет",
    }),
    months=_count(
        "январь, января, январе", "февраль, февраля, феврале", "март, марта, марте", "апрель, апреля, апреле",
        "май, мая, мае", "июнь, июня, июне", "июль, июля, июле", "август, августа, августе",
        "сентябрь, сентября, сентябре", "октябрь, октября, октябре", "ноябрь, ноября, ноябре",
        "декабрь, декабря, декабре",
    ),
    amounts={"полгода": ("month", 6), "полторы недели": ("day", 10)},
    forms=(
        ("week", r"\bна\s+<weeks>\s+неделе,?\s+(?:во?\s+)?<weekdays>\b"), ("next", r"\b<weeks>\s+<weekdays>\b"),
        ("end", r"\b<ends>\b"), ("span", r"\b<spans>\b"), ("day", r"\b<days>\b"),
        ("date", r"\b(?P<day>\d{1,2})(?:-?го)?\s+<months>\b(?:\s+(?P<year>\d{4})(?:\s*г(?:ода|\.)?)?)?"),
        ("date", r"(?:(?<=\bв )|(?<=\bс )|(?<=\bдо )|(?<=\bк ))<months>\b(?:\s+(?P<year>\d{4}))?"),
        ("later", r"\bчерез\s+(?:<amounts>|(?:<number>\s+)?<units>)\b"),
        ("ago", r"\b(?:<amounts>|(?:<number>\s+)?<units>)\s+назад\b"), ("weekday", r"\b<weekdays>\b"),
    ),
    until=(r"\b(?:до|по|к|ко|не позднее)\s", ""), since=(r"\b(?:с|со)\s", ""),
)  # fmt: skip

ARABIC: Final = DateTable(
    days=_rows({
        -2: "أول أمس, أول امس, اول امس", -1: "أمس, امس, مبارح, البارحة", 0: "اليوم, الليلة",
        1: "غدا, غداً, غدًا, بكرة, بكره, بكرا", 2: "بعد غد, بعد بكرة, بعد بكره",
    }),
    weekdays=_count(
        "الاثنين, الإثنين, الأثنين, اثنين", "الثلاثاء, ثلاثاء", "الأربعاء, الاربعاء, أربعاء", "الخميس, خميس",
        "الجمعة, الجمعه, جمعة", "السبت, سبت", "الأحد, الاحد, أحد", first=0,
    ),
    weeks=_rows({
        -1: "الماضي, الماضية, اللي فات, الفائت", 1: "القادم, القادمة, المقبل, المقبلة, الجاي, الجاية, التالي",
    }),
    spans=_spans({
        ("weekend", 0): "نهاية الأسبوع, عطلة نهاية الأسبوع, نهاية هذا الأسبوع",
        ("week", -1): "الأسبوع الماضي, الاسبوع الماضي", ("week", 0): "هذا الأسبوع, هذا الاسبوع",
        ("week", 1): "الأسبوع القادم, الأسبوع المقبل, الأسبوع الجاي, الاسبوع القادم, الاسبوع الجاي",
        ("month", -1): "الشهر الماضي, الشهر اللي فات", ("month", 0): "هذا الشهر",
        ("month", 1): "الشهر القادم, الشهر المقبل, الشهر الجاي",
        ("year", -1): "السنة الماضية, العام الماضي", ("year", 0): "هذه السنة, هذا العام",
        ("year", 1): "السنة القادمة, العام القادم, السنة الجاية, العام المقبل",
    }),
    ends=_spans({("month", 0): "نهاية الشهر, آخر الشهر, نهاية هذا الشهر", ("year", 0): "نهاية السنة, نهاية العام"}),
    numbers=_count("واحد", "اثنين", "ثلاثة, ثلاث", "أربعة, أربع", "خمسة, خمس", "ستة, ست", "سبعة, سبع", "ثمانية, ثماني", "تسعة, تسع", "عشرة, عشر"),
    units=_units({
        "day": "يوم, أيام, ايام", "week": "أسبوع, أسابيع, اسبوع, اسابيع", "month": "شهر, أشهر, شهور, اشهر",
        "year": "سنة, سنوات, سنين, عام, أعوام",
    }),
    months=_count(
        "يناير, كانون الثاني", "فبراير, شباط", "مارس, آذار", "أبريل, ابريل, إبريل, نيسان", "مايو, أيار", "يونيو, حزيران",
        "يوليو, تموز", "أغسطس, اغسطس, آب", "سبتمبر, أيلول", "أكتوبر, اكتوبر, تشرين الأول", "نوفمبر, تشرين الثاني",
        "ديسمبر, كانون الأول",
    ),
    amounts={
        "يومين": ("day", 2), "أسبوعين": ("week", 2), "اسبوعين": ("week", 2), "شهرين": ("month", 2), "سنتين": ("year", 2),
        "عامين": ("year", 2),
    },
    forms=(
        ("coming", r"(?:يوم\s+)?<weekdays>\s+<weeks>"), ("day", r"\b<days>\b"), ("end", "<ends>"), ("span", "<spans>"),
        ("date", r"\b(?P<day>\d{1,2})\s+<months>(?:\s+(?P<year>\d{4}))?"),
        ("date", r"(?:(?<=\bفي )|(?<=\bمنذ )|(?<=\bحتى )|(?<=\bشهر ))<months>(?:\s+(?P<year>\d{4}))?"),
        ("later", r"\bبعد\s+(?:<amounts>|(?:<number>\s+)?<units>)\b"),
        ("ago", r"\b(?:قبل|منذ)\s+(?:<amounts>|(?:<number>\s+)?<units>)\b"),
        ("ago", r"\bمن\s+(?:<amounts>|<number>\s+<units>)\b"),
        ("weekday", r"\b(?:يوم\s+)?<weekdays>\b"),
    ),
    until=(r"\b(?:حتى|لغاية|قبل|إلى)\s(?:يوم\s)?", ""), since=(r"\bمنذ\s(?:يوم\s)?", ""),
)  # fmt: skip

HINDI: Final = DateTable(
    days=_rows({0: "आज", 1: "कल", 2: "परसों"}),
    weekdays=_count(
        "सोमवार", "मंगलवार, मंगल", "बुधवार, बुध", "गुरुवार, बृहस्पतिवार, वीरवार", "शुक्रवार, शुक्र", "शनिवार", "रविवार, इतवार",
        first=0,
    ),
    weeks=_rows({-1: "पिछले, पिछला, बीते", 0: "इस", 1: "अगले, अगला, आने वाले"}),
    spans=_spans({
        ("weekend", 0): "इस वीकेंड, वीकेंड", ("weekend", 1): "अगले वीकेंड",
        ("week", -1): "पिछले हफ्ते, पिछले हफ़्ते, पिछले सप्ताह", ("week", 0): "इस हफ्ते, इस हफ़्ते, इस सप्ताह",
        ("week", 1): "अगले हफ्ते, अगले हफ़्ते, अगले सप्ताह",
        ("month", -1): "पिछले महीने", ("month", 0): "इस महीने", ("month", 1): "अगले महीने",
        ("year", -1): "पिछले साल, पिछले वर्ष", ("year", 0): "इस साल, इस वर्ष", ("year", 1): "अगले साल, अगले वर्ष",
    }),
    ends=_spans({("month", 0): "महीने के अंत, इस महीने के अंत, महीने के आखिर", ("year", 0): "साल के अंत, इस साल के अंत"}),
    numbers=_count("एक", "दो", "तीन", "चार", "पांच, पाँच", "छह, छः", "सात", "आठ", "नौ", "दस"),
    units=_units({
        "day": "दिन, दिनों", "week": "हफ्ते, हफ़्ते, हफ्ता, हफ़्ता, सप्ताह, हफ्तों", "month": "महीने, महीना, महीनों, माह",
        "year": "साल, वर्ष, सालों",
    }),
    months=_count(
        "जनवरी", "फरवरी, फ़रवरी", "मार्च", "अप्रैल", "मई", "जून", "जुलाई", "अगस्त", "सितंबर, सितम्बर", "अक्टूबर, अक्तूबर",
        "नवंबर, नवम्बर", "दिसंबर, दिसम्बर",
    ),
    forms=(
        ("next", r"<weeks>\s+<weekdays>"), ("end", "<ends>"), ("span", "<spans>"),
        ("date", r"(?P<day>\d{1,2})\s+<months>(?:\s+(?P<year>\d{4}))?"),
        ("date", r"<months>(?:\s+(?P<year>\d{4}))?(?=\s+(?:में|से|तक))"),
        ("later", r"<number>\s+<units>\s+(?:के\s+)?(?:बाद|में)"), ("ago", r"<number>\s+<units>\s+पहले"),
        ("either", r"(?<!\S)<days>(?!\S)"), ("weekday", "<weekdays>"),
    ),
    until=("", r"\s+तक"), since=("", r"\s+से"),
    past="(?:था|थी|थे|गया|गई|गए|हुआ|हुई|हुए|किया|मिला|मिली|आया|आई|देखा|खरीदा|खरीदी|लिया|दिया)(?!\\S)",
)  # fmt: skip

TABLES: Final[Mapping[str, DateTable]] = {
    "ja": JAPANESE,
    "zh": CHINESE,
    "ko": KOREAN,
    "ru": RUSSIAN,
    "ar": ARABIC,
    "hi": HINDI,
}
