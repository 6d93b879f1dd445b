"""How models are called and coloured, the same in all parts of a report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from fanwise.matrix.cells.cell import NO_MODEL
from fanwise.view.geometry import colour

NO_MODEL_TEXT = "no model"


class Palette:
    """By the models of a matrix; a cell without one has no colour.

    Names are shown without their parameters (`sim:slow?median_s=4`) as long as that is no other's.
    """

    def __init__(self, models: Iterable[str]) -> None:
        named = [model for model in dict.fromkeys(models) if model != NO_MODEL]
        short = {model: model.partition("?")[0] for model in named}
        counts = Counter(short.values())
        self._texts = {m: text if counts[text] == 1 else m for m, text in short.items()}
        self._classes = {model: colour(place) for place, model in enumerate(named)}

    def __getitem__(self, model: str) -> str:
        return self._classes.get(model, colour(None))

    def text(self, model: str) -> str:
        """As people read it; what is no model (a strategy, say) is as it is."""
        return NO_MODEL_TEXT if model == NO_MODEL else self._texts.get(model, model)

    @property
    def classes(self) -> Iterable[str]:
        return self._classes.values()

    @property
    def legend(self) -> list[tuple[str, str]]:
        return [(self.text(model), class_) for model, class_ in self._classes.items()]
