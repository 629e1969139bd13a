"""Dates written as text, taken apart."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute
from numpy.typing import NDArray

#: Its functions are made when it is imported, which no type checker sees.
pc: Any = pyarrow.compute

#: Names of months: English, German, French, Spanish, Italian, Portuguese, Dutch, Swedish, Danish,
#: Polish, Russian, Czech, Turkish, Indonesian, Finnish, Hungarian, Romanian, Ukrainian, Greek,
#: Slovak, Slovene, Catalan, Bulgarian, Estonian.
_LANGUAGES = """
january february march april may june july august september october november december
januar februar märz april mai juni juli august september oktober november dezember
janvier février mars avril mai juin juillet août septembre octobre novembre décembre
enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre
gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre
janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro
januari februari maart april mei juni juli augustus september oktober november december
jan feb mar apr may jun jul aug sep oct nov dec
jan feb mär apr mai jun jul aug sept okt nov dez
janv févr mrt avr mei juin juil août set ott nov déc
ene fév mars abr mag giu lug ago setem out novem dic
gen febr março abri maio junho luglio agos settem outub novem dicem
gen fev maart apr mai giugno luglio ago set out nov dic
januari februari mars april maj juni juli augusti september oktober november december
januar februar marts april maj juni juli august september oktober november december
stycznia lutego marca kwietnia maja czerwca lipca sierpnia września października listopada grudnia
января февраля марта апреля мая июня июля августа сентября октября ноября декабря
янв фев мар апр май июн июл авг сен окт ноя дек
январь февраль март апрель май июнь июль август сентябрь октябрь ноябрь декабрь
ledna února března dubna května června července srpna září října listopadu prosince
ocak şubat mart nisan mayıs haziran temmuz ağustos eylül ekim kasım aralık
oca şub mar nis may haz tem ağu eyl eki kas ara
sty lut mar kwi maj cze lip sie wrz paź lis gru
januari februari maret april mei juni juli agustus september oktober november desember
jan feb mar apr mei jun jul agu sep okt nov des
tammikuu helmikuu maaliskuu huhtikuu toukokuu kesäkuu heinäkuu elokuu syyskuu lokakuu marraskuu
joulukuu
tammikuuta helmikuuta maaliskuuta huhtikuuta toukokuuta kesäkuuta heinäkuuta elokuuta syyskuuta
lokakuuta marraskuuta joulukuuta
január február március április május június július augusztus szeptember október november december
jan febr márc ápr máj jún júl aug szept okt nov dec
ianuarie februarie martie aprilie mai iunie iulie august septembrie octombrie noiembrie decembrie
ian feb mar apr mai iun iul aug sept oct noi dec
січня лютого березня квітня травня червня липня серпня вересня жовтня листопада грудня
січень лютий березень квітень травень червень липень серпень вересень жовтень листопад грудень
ιανουαρίου φεβρουαρίου μαρτίου απριλίου μαΐου ιουνίου ιουλίου αυγούστου σεπτεμβρίου οκτωβρίου
νοεμβρίου δεκεμβρίου
ιανουάριος φεβρουάριος μάρτιος απρίλιος μάιος ιούνιος ιούλιος αύγουστος σεπτέμβριος οκτώβριος
νοέμβριος δεκέμβριος
ιαν φεβ μαρ απρ μαΐ ιουν ιουλ αυγ σεπ οκτ νοε δεκ
januára februára marca apríla mája júna júla augusta septembra októbra novembra decembra
januarja februarja marca aprila maja junija julija avgusta septembra oktobra novembra decembra
gener febrer març abril maig juny juliol agost setembre octubre novembre desembre
януари февруари март април май юни юли август септември октомври ноември декември
jaanuar veebruar märts aprill mai juuni juuli august september oktoober november detsember
"""
_MONTHS = {name: 1 + k % 12 for k, name in enumerate(_LANGUAGES.split())}
_NAME = rf"(?P<name>(?i:{'|'.join(sorted(_MONTHS, key=len, reverse=True))}))\.?"
#: Days of the week in these languages; any other word before a date says something of its own.
_WEEKDAYS = """
monday tuesday wednesday thursday friday saturday sunday mon tues? wed thu thurs? fri sat sun
montag dienstag mittwoch donnerstag freitag samstag sonnabend sonntag mo di mi do fr sa so
lundi mardi mercredi jeudi vendredi samedi dimanche lun mar mer jeu ven sam dim
lunes martes mi[ée]rcoles jueves viernes s[áa]bado domingo lun mar mi[ée] jue vie s[áa]b dom
luned[ìi] marted[ìi] mercoled[ìi] gioved[ìi] venerd[ìi] sabato domenica gio ven
(?:segunda|terça|quarta|quinta|sexta)(?:-feira)? seg ter qua qui sex
maandag dinsdag woensdag donderdag vrijdag zaterdag zondag ma di wo do vr za zo
måndag tisdag onsdag torsdag fredag lördag söndag mån tis ons tors? fre lör sön
mandag tirsdag onsdag torsdag fredag lørdag søndag man tir ons tor fre lør søn
poniedziałek wtorek środa czwartek piątek sobota niedziela pon wt śr czw pt sob ndz?
понедельник вторник среда четверг пятница суббота воскресенье пн вт ср чт пт сб вс
pondělí úterý středa čtvrtek pátek sobota neděle po út st čt pá so ne
pazartesi salı çarşamba perşembe cuma cumartesi pazar pzt sal çar per cum cmt paz
"""
_WEEKDAY = rf"(?:(?i:{'|'.join(_WEEKDAYS.split())})\.?,? +)?"
_CLOCK = (
    r"(?P<H>\d{1,2})(?:[:.hH](?P<M>\d{2})(?:[:.](?P<S>\d{2})(?:[.,](?P<f>\d{1,9}))?)?)?"
    r"(?: ?(?P<half>[AaPp])\.?[Mm]\.?)?"
)
#: Hours before UTC of clocks that have a name of one meaning; others are as they are written.
_HOURS = (
    "EST 5,EDT 4,CDT 5,MST 7,MDT 6,PST 8,PDT 7,WET 0,BST -1,WEST -1,CET -1,CEST -2,EET -2,EEST -3,"
    "MSK -3,SGT -8,HKT -8,JST -9,KST -9,AEST -10,AEDT -11,NZST -12,NZDT -13"
)
_NAMED = {name: float(hours) for name, hours in (one.split() for one in _HOURS.split(","))}
OFFSET = r"(?:0\d|1[0-4]):?[0-5]\d"
_ZONE = (
    rf"(?: ?(?P<zone>[Zz]|(?:UTC|GMT)?[+-](?:{OFFSET}|\d\d?)|[A-Z]{{2,5}}|[A-Z][a-z]+/\w+)"
    r"(?: \([^()]*\)|\[[^]]*\])?)?"
)
_TIME = rf"(?:(?:[Tt]|,? +|,? at ){_CLOCK}{_ZONE})?"
_TH = r"(?:st|nd|rd|th|er|º|ª)?"
_OF = r"(?: (?:de|del|of))?"
_YEAR = r"(?P<y>1[5-9]\d\d|2[01]\d\d)"

#: Ways to write a date; of the numbers a and b of the last either may be the day.
_WAYS = tuple(
    f"^{way}$"
    for way in (
        rf"{_WEEKDAY}(?P<y>\d{{4}})[-/.] ?(?P<m>\d{{1,2}})[-/.] ?(?P<d>\d{{1,2}})\.?{_TIME}",
        r"(?P<y>\d{4})-(?P<m>\d\d)-(?P<d>\d\d)-(?P<H>\d\d)\.(?P<M>\d\d)\.(?P<S>\d\d)"
        r"(?:\.(?P<f>\d{1,9}))?(?P<half>)(?P<zone>)",
        rf"{_YEAR}[_ ](?P<m>\d{{1,2}})[_ ](?P<d>\d{{1,2}}){_TIME}",
        rf"{_WEEKDAY}(?P<a>\d{{1,2}})(?P<mark>[-/])(?P<b>\d{{1,2}})[-/](?P<y>\d{{4}}|\d{{2}}){_TIME}",
        rf"(?P<a>\d{{1,2}})(?P<mark>[_ ])(?P<b>\d{{1,2}})[_ ]{_YEAR}{_TIME}",
        rf"{_WEEKDAY}(?P<a>\d{{1,2}})(?P<mark>\.) ?(?P<b>\d{{1,2}})\. ?(?P<y>\d{{4}}){_TIME}",
        rf"(?P<a>\d{{2}})(?P<mark>\.)(?P<b>\d{{2}})\.(?P<y>\d{{2}}){_TIME}",
        rf"{_WEEKDAY}(?P<d>\d{{1,2}}){_TH}{_OF}[-/ .]*{_NAME}{_OF}[-/ ,]*"
        rf"(?P<y>\d{{4}}|\d{{2}})(?: (?:г\.?|года))?{_TIME}",
        rf"(?P<d>\d{{1,2}})[-/]?{_NAME}[-/]?(?P<y>\d{{4}}):{_CLOCK}{_ZONE}",
        rf"{_WEEKDAY}{_NAME}[- ]*(?P<d>\d{{1,2}}){_TH}(?:,? +|-)(?P<y>\d{{4}}){_TIME}",
        rf"(?P<y>\d{{4}})[.,]?[-/ ]{_NAME}[-/ ](?P<d>\d{{1,2}})\.?{_TIME}",
        rf"{_WEEKDAY}{_NAME} +(?P<d>\d{{1,2}}) {_CLOCK}{_ZONE} (?P<y>\d{{4}})",
        rf"{_NAME}{_OF}[-/ ,]*(?P<y>\d{{4}})",
        rf"{_NAME}(?:[-/]| ?')(?P<y>\d{{2}})",
        rf"{_NAME} (?P<e>\d{{1,2}}){_TH}",
        rf"(?P<e>\d{{1,2}})-{_NAME}",
        rf"(?P<d>\d{{1,2}}){_TH}{_OF}[ .]*{_NAME}",
        rf"(?P<y>\d{{4}}),?[-/ ]{_NAME}",
        _YEAR,
        rf"~(?P<y>\d{{2}})(?P<m>\d{{2}})(?P<d>\d{{2}}){_TIME}",
        rf"{_YEAR}(?:[-/]?M?)(?P<m>0[1-9]|1[0-2])",
        rf"(?P<m>0?[1-9]|1[0-2])[-./]{_YEAR}",
        r"(?P<y>\d{4})[-/ ]?[Qq](?P<q>[1-4])",
        rf"[Qq](?P<q>[1-4])[-/ ]?{_YEAR}",
        rf"(?P<q>[1-4])[Qq][-/ ]?{_YEAR}",
        r"(?P<q>[1-4])[Qq](?P<y>\d\d)",
        rf"{_YEAR}(?P<m>0[1-9]|1[0-2])(?P<d>0[1-9]|[12]\d|3[01])(?:[Tt ]{_CLOCK}{_ZONE})?",
        rf"{_YEAR}(?P<m>0[1-9]|1[0-2])(?P<d>0[1-9]|[12]\d|3[01])[Tt ]?"
        rf"(?P<H>[01]\d|2[0-3])(?P<M>[0-5]\d)(?P<S>[0-5]\d)?(?:\.(?P<f>\d{{1,9}}))?(?P<half>){_ZONE}",
        rf"{_YEAR}-?(?P<j>00[1-9]|0[1-9]\d|[12]\d\d|3[0-5]\d|36[0-6])",
        rf"{_YEAR}-?W(?P<w>0[1-9]|[1-4]\d|5[0-3])(?:-?(?P<wd>[1-7]))?",
        rf"(?:[KC]?W|[Ww]k|[Ww]eek) ?(?P<w>0?[1-9]|[1-4]\d|5[0-3])(?P<wd>)[-/, ]+{_YEAR}",
        rf"(?P<a>\d{{2}})(?P<b>\d{{2}}){_YEAR}",
        r"(?P<epoch>\d{9,10}(?:(?:\d{3}){0,3}|\.\d+))",
        rf"(?P<y>\d{{4}})[年년] ?(?P<m>\d{{1,2}})[月월] ?(?P<d>\d{{1,2}})[日일]{_TIME}",
    )
)

#: Years before the first of an era of Japan.
_ERAS = {"明治": 1867, "大正": 1911, "昭和": 1925, "平成": 1988, "令和": 2018}
_OF_ERA = re.compile(rf"({'|'.join(_ERAS)})(\d{{1,2}}|元)(?=年)")

_LETTER = re.compile(r"[^\W\d_]")

#: Where the year of two digits is in a day of six digits; "" where six digits are no day, and in
#: 3/4/21 the year is last.
Short = Literal["", "first", "last"]

BARE_YEAR = re.compile(_YEAR)
_OF_YEAR = re.compile(rf"{_NAME}(?:[-/]| ?')\d{{2}}")
_OF_TWO = re.compile(r"(\d\d)[-/.](\d\d)[-/.](\d\d)(?!\d)", re.ASCII)
_TIME_FIRST = re.compile(
    r"(?P<time>\d{1,2}:\d\d(?::\d\d(?:[.,]\d+)?)?(?: ?[AaPp]\.?[Mm]\.?)?),?(?: on)? +(?P<date>.+)"
)

#: The year of days without one, of 366 days; and a number that is a day, or a year of two digits.
NO_YEAR = 4
EITHER = re.compile(
    rf"(?:{_NAME} (?=\d))?(?P<e>\d{{1,2}})(?(name)|-{_NAME.replace('?P<name>', '?:')})"
)

#: Two digits of a year up to this one are of the century after. Source: POSIX strptime. Columns
#: whose years are dense there are cut elsewhere from 20 on.
PIVOT, _EARLIEST = 68, 20

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class WrittenDates:
    """Dates (n,) taken apart; what is not written counts as the first possible.

    `found`: which texts are written like a date; `year`, `month`, `day`: 0 where not found; month
    and day are 0 where either of two numbers may be it; `short`: which years have two digits;
    `first`, `second`: these two numbers; 0 elsewhere; `mark`: the sign between them;
    `microseconds`: since midnight; -1 where that is no time; `offset`: minutes before UTC; nan
    where none is written.
    """

    found: NDArray[np.bool_]
    year: Ints
    short: NDArray[np.bool_]
    month: Ints
    day: Ints
    first: Ints
    second: Ints
    mark: NDArray[np.object_]
    microseconds: Ints
    offset: NDArray[np.float64]

    def since(self, pivot: int) -> WrittenDates:
        """With years of two digits up to `pivot` in the 2000s, the others in the 1900s."""
        two = self.year % 100
        years = two + np.where(two <= pivot, 2000, 1900)
        return replace(self, year=np.where(self.short, years, self.year))

    @property
    def pivot(self) -> int:
        """Where these years are cut: at 40, or in the widest gap of 20 years at least."""
        there = np.unique(self.year[self.short] % 100)
        if not len(there):
            return PIVOT
        cuts = np.arange(_EARLIEST, PIVOT + 1)
        after = there[np.searchsorted(there, cuts, side="right") % len(there)]
        before = there[np.searchsorted(there, cuts, side="right") - 1]
        gap = (after - before - 1) % 100
        return int(cuts[np.lexsort((np.abs(cuts - 40), -gap * (gap >= 20)))[0]])


def in_days(texts: Sequence[str]) -> bool:
    """Whether Jun 14 is a day and no year, by how many numbers there are from 1 to 31.

    >>> in_days(["Jun 14", "Jul 14"]), in_days([f"Jun {day}" for day in range(1, 31)])
    (False, True)
    """
    numbers = {int(m["e"]) for text in texts if (m := EITHER.fullmatch(text))}
    of_years = any(map(_OF_YEAR.fullmatch, texts))
    return len(numbers) > 12 and numbers <= {*range(1, 32)} and not of_years


def year_first(texts: Sequence[str]) -> bool:
    """Whether 23/04/30 has the year first: the last numbers are all days of a month, the first few.

    >>> days = [f"{month:02d}/{day:02d}" for month in (1, 3) for day in range(1, 32)]
    >>> year_first([f"23/{day}" for day in days]), year_first([f"{day}/23" for day in days])
    (True, False)
    """
    cells = [m for text in texts if (m := _OF_TWO.match(text.strip("'\"")))]
    if len(cells) < len(texts):
        return False
    first, second, last = ({int(m[k]) for m in cells} for k in (1, 2, 3))
    of_days = 29 <= max(last, default=0) <= 31 and min(last) > 0 and len(last) > 24
    return of_days and 1 <= min(second) <= max(second) <= 12 and 2 * len(first) < len(last)


def _spelt_out(text: str, short: Short) -> str:
    """A date without quotes, its time behind it, and with signs in six digits if these are `short`.

    >>> _spelt_out("1:08 PM 3 Sep 2020", ""), _spelt_out("241130", "first")
    ('3 Sep 2020 1:08 PM', '~241130')
    >>> _spelt_out("24/11/30 13:08", "first")
    '~241130 13:08'
    """
    text = _OF_ERA.sub(lambda m: str(_ERAS[m[1]] + int(m[2].replace("元", "1"))), text)
    text = text.strip("'\"")
    text = text[1:-1] if text[:1] == "[" and text[-1:] == "]" else text
    if short == "first" and (m := _OF_TWO.match(text)):
        return f"~{m[1]}{m[2]}{m[3]}{text[m.end() :]}"
    if short and len(text) == 6 and text.isdigit():
        if short == "last":
            return f"{text[:2]}-{text[2:4]}-{text[4:]}"
        return f"~{text}"
    m = _TIME_FIRST.fullmatch(text) if ":" in text[:3] else None
    return f"{m['date']} {m['time']}" if m else text


def written_dates(
    texts: NDArray[np.object_], *, days: bool = False, short: Short = ""
) -> WrittenDates:
    """Take texts (n,) apart; Jun 14 is a day of no year if `days`, else a month.

    Six digits are a day if `short` says where its year is, else a year with a month.

    >>> found = written_dates(np.array(["3/4/21 1:08 PM", "7 March 2020", "x"], dtype=object))
    >>> found.found.tolist(), found.year.tolist(), found.first.tolist(), found.month.tolist()
    ([True, True, False], [2021, 2020, 0], [3, 0, 0], [0, 3, 0])
    """
    n, bare = len(texts), np.array([_spelt_out(str(text), short) for text in texts], dtype=object)
    whole = {k: np.zeros(n, np.int64) for k in ("y", "short", "m", "d", "a", "b", "us")}
    found, mark = np.zeros(n, bool), np.full(n, "", dtype=object)
    offset = np.full(n, np.nan)
    letters = any(map(_LETTER.search, bare))  # patterns with names take a millisecond to compile
    for way in _WAYS if letters else (way for way in _WAYS if _NAME not in way):
        open_ = np.flatnonzero(~found)
        parts = _extracted(bare[open_], way)
        hit = open_[parts["hit"]]
        if not hit.size:
            continue
        found[hit] = True
        said = {k: v[parts["hit"]] for k, v in parts.items() if k != "hit"}
        if "e" in said:
            said["d" if days else "y"] = said.pop("e")
        (_fill_epoch if "epoch" in said else _fill)(whole, hit, said, offset)
        mark[hit] = said.get("mark", "")
    year, two, month, day, first, second, time = whole.values()
    return WrittenDates(found, year, two > 0, month, day, first, second, mark, time, offset)


def _extracted(texts: NDArray[np.object_], way: str) -> dict[str, NDArray[Any]]:
    """Groups of a pattern as arrays of text ("" where a group is not there), and which fit."""
    struct = pc.extract_regex(pa.array(texts, pa.string()), way)
    hit = np.asarray(struct.is_valid(), dtype=bool)
    names = [field.name for field in struct.type]
    columns = {n: struct.field(n).fill_null("").to_numpy(zero_copy_only=False) for n in names}
    return {"hit": hit, **columns}


def _fill_epoch(
    whole: dict[str, Ints], hit: Ints, parts: dict[str, NDArray[Any]], offset: NDArray[np.float64]
) -> None:
    """Seconds since 1970, with a fraction or in thousandths, millionths or billionths."""
    cells = [text.partition(".") for text in parts["epoch"]]
    since = [int(s + f"{f:0<6.6}") // 1000 ** ((len(s) - 9) // 3) for s, _, f in cells]
    moment = np.array(since, np.int64).astype("datetime64[us]")
    for key, unit in (("y", "Y"), ("m", "M"), ("d", "D")):
        whole[key][hit] = _calendar_part(moment, unit)
    whole["us"][hit] = (moment - moment.astype("datetime64[D]")).astype(np.int64)
    offset[hit] = 0.0


def _fill(
    whole: dict[str, Ints], hit: Ints, parts: dict[str, NDArray[Any]], offset: NDArray[np.float64]
) -> None:
    for key in ("y", "m", "d", "a", "b"):
        if key in parts:
            whole[key][hit] = parts[key].astype(np.int64)
    short = np.array([len(text) <= 2 for text in parts.get("y", ["    "] * len(hit))], dtype=bool)
    years = whole["y"][hit] if "y" in parts else np.full(len(hit), NO_YEAR)
    whole["short"][hit] = short
    whole["y"][hit] = np.where(short, years + np.where(years <= PIVOT, 2000, 1900), years)
    if "name" in parts:
        whole["m"][hit] = [_MONTHS[name.lower()] for name in parts["name"]]
    if "q" in parts:
        whole["m"][hit] = 3 * parts["q"].astype(np.int64) - 2
    if parts.keys() & {"w", "j"}:
        weeks = parts.get("w", np.full(len(hit), "0"))
        days = [_first_day(*map(int, one)) for one in zip(whole["y"][hit], weeks, strict=True)]
        of_days = parts["wd"] if "w" in parts else parts["j"]
        later = np.array([int(text or 1) - 1 for text in of_days], "timedelta64[D]")
        dates = np.array(days, "datetime64[D]") + later
        for key, unit in (("y", "Y"), ("m", "M"), ("d", "D")):
            whole[key][hit] = _calendar_part(dates, unit)
    elif "d" not in parts and "b" not in parts:
        whole["d"][hit] = 1
        if not {"m", "name", "q"} & parts.keys():
            whole["m"][hit] = 1
    if "H" in parts:
        whole["us"][hit] = clock_microseconds(parts)
        offset[hit] = [_minutes(zone) for zone in parts["zone"]]


def _first_day(year: int, week: int) -> date:
    """Of a week of ISO 8601 (53 may be the next year's first); 0: of the year."""
    if week == 0:
        return date(year, 1, 1)
    return date.fromisocalendar(year, 1, 1) + timedelta(weeks=week - 1)


def _calendar_part(dates: NDArray[np.datetime64], unit: str) -> Ints:
    """Year, month of the year or day of the month."""
    dates = dates.astype("datetime64[D]")
    if unit == "Y":
        return dates.astype("datetime64[Y]").astype(np.int64) + 1970
    whole = "Y" if unit == "M" else "M"
    inside = dates.astype(f"datetime64[{unit}]") - dates.astype(f"datetime64[{whole}]")
    return inside.astype(np.int64) + 1


def _minutes(zone: str) -> float:
    if not zone:
        return np.nan
    if zone in _NAMED:
        return -60.0 * _NAMED[zone]
    zone = zone.removeprefix("UTC").removeprefix("GMT")
    if zone[:1] not in ("+", "-"):
        return 0.0 if zone in ("", "Z", "z") else np.nan
    digits = zone[1:].replace(":", "").zfill(2).ljust(4, "0")
    return (-1 if zone[0] == "-" else 1) * (60.0 * int(digits[:2]) + int(digits[2:]))


def clock_microseconds(parts: dict[str, NDArray[Any]]) -> Ints:
    """Since midnight, from groups H, M, S, f and half of a pattern; -1 where that is no time.

    24:00 is the end of a day.
    """
    hours, minutes, seconds = (
        np.array([int(text or 0) for text in parts[key]], dtype=np.int64) for key in "HMS"
    )
    halves = np.array([half.lower() for half in parts["half"]], dtype=object)
    twelve = halves != ""
    good = (
        (minutes < 60) & (seconds < 60) & np.where(twelve, (hours > 0) & (hours < 13), hours < 24)
    )
    good |= (hours == 24) & (minutes == 0) & (seconds == 0) & ~twelve
    hours = np.where(twelve, hours % 12 + 12 * (halves == "p"), hours)
    fraction = np.array([int(f.ljust(9, "0")[:6]) if f else 0 for f in parts["f"]], dtype=np.int64)
    return np.where(good, ((hours * 60 + minutes) * 60 + seconds) * 10**6 + fraction, -1)
