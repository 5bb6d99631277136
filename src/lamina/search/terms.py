"""The terms of a catalogue by number, each with a word that stands for it."""

from lamina.language.words import STOP_WORDS, stem, words


class Terms:
    """Words in, numbers out; a term has its number from the first time it is seen."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}
        self._spelled: list[str] = []  # by number
        self._read = _Read(self)
        self._respelled: set[int] = set()

    def __len__(self) -> int:
        return len(self.numbers)

    @property
    def names(self) -> int:
        """How many words and terms are kept."""
        return len(self._read) + len(self.numbers)

    def of(self, text: str) -> list[int]:
        """The terms of a text in order, with repetitions, without stop words."""
        return [number for number in map(self._read.__getitem__, words(text)) if number >= 0]

    def respelled(self) -> dict[int, str]:
        """The terms for which another word stands than when this was last asked, new ones among them."""
        found = {number: self._spelled[number] for number in sorted(self._respelled)}
        self._respelled.clear()
        return found

    def learn(self, word: str) -> int:
        """The number of a word's term. The shortest word stands for each, so it does not matter which came first."""
        if word in STOP_WORDS:
            return -1
        number = self.numbers.setdefault(stem(word), len(self.numbers))
        if number == len(self._spelled):
            self._spelled.append(word)
            self._respelled.add(number)
        elif (len(word), word) < (len(known := self._spelled[number]), known):
            self._spelled[number] = word
            self._respelled.add(number)
        return number


class _Read(dict[str, int]):
    """Every word that was read with the number of its term, -1 for a stop word: mostly one plain lookup."""

    def __init__(self, terms: Terms) -> None:
        super().__init__()
        self._terms = terms

    def __missing__(self, word: str) -> int:
        number = self[word] = self._terms.learn(word)
        return number
