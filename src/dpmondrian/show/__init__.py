"""What people see of a release, a statement or a forecast. Everything is drawn from facts that may be published.

- `words`: one catalogue per language, the only place that holds sentences, and numbers as text
- `texts`: plain text, what `print` shows
- `report`: a release as one HTML file
- `notebooks`: small pieces of HTML
- `plots`: pictures, and the one home of matplotlib
- `doubts`: what promises little or will not work, as sentences and warnings
"""

from __future__ import annotations

from dpmondrian.show.doubts import warn_of_few_rows, warn_of_promise
from dpmondrian.show.notebooks import release_html, statement_html

__all__ = ["release_html", "statement_html", "warn_of_few_rows", "warn_of_promise"]
