"""What people see of a release, a statement or a forecast. Everything is drawn from facts that may be published.

- `words`: one catalogue per language, the only place that holds sentences, and numbers as text
- `texts`: plain text, what `print` shows
- `report`: a release as one HTML file
- `html`: templates, in which everything is escaped
- `notebooks`: small pieces of HTML
- `plots`: pictures, and the one home of matplotlib
- `doubts`: what promises little or will not work, as sentences and warnings
"""

from __future__ import annotations

from dpmondrian.show.doubts import warn_of_promise, warn_of_release
from dpmondrian.show.html import environment
from dpmondrian.show.notebooks import release_html, statement_html
from dpmondrian.show.texts.clusters import one_cluster_text

__all__ = ["environment", "one_cluster_text", "release_html", "statement_html", "warn_of_promise", "warn_of_release"]
