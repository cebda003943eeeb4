"""How Sphinx makes the documentation site: ``make docs``.

The source folder is the whole repository, so that links between pages work alike here and where the repository is read as files.
"""

import os
import sys
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_extensions"))

from dpmondrian import __version__

project = "dpmondrian"
author = "The dpmondrian authors"
copyright = "2026, the dpmondrian authors"
version = release = __version__

extensions = [
    "myst_nb",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx_copybutton",
    "sphinx_design",
    "commands",
    "source_pages",
]
root_doc = "docs/index"
include_patterns = [
    "docs/**.md",
    "results/**.md",
    "lab/**README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
]
exclude_patterns = ["docs/_build", ".venv*", "results/tables"]

# Markdown as other hosts render it: headings have anchors, and links lead to files.
myst_heading_anchors = 4
myst_enable_extensions = ["attrs_block", "colon_fence", "deflist", "html_image"]
suppress_warnings = [
    "myst.header",  # a page may leave out a level of headings
    "myst-nb.lexer",  # of notebooks that are not executed
]

nb_execution_mode = os.environ.get("DPMONDRIAN_NOTEBOOKS", "force")  # "off" while writing
nb_execution_raise_on_error = True
nb_execution_in_temp = True
nb_execution_show_tb = True
nb_execution_timeout = 300
nb_merge_streams = True

default_role = "py:obj"
warnings.filterwarnings("ignore", "Unknown section", module="numpydoc")  # see privacy_sections
autodoc_typehints = "none"  # the docstrings have them, in words
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
copybutton_exclude = ".linenos, .gp, .go"

html_theme = "pydata_sphinx_theme"
html_title = f"dpmondrian {version}"
html_short_title = "dpmondrian"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_extra_path = ["_root"]
html_favicon = "_static/logo.svg"
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": "dpmondrian", "image_light": "_static/logo.svg", "image_dark": "_static/logo.svg", "alt_text": ""},
    "header_links_before_dropdown": 8,
    "navbar_align": "left",
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
}


def privacy_sections(app, what, name, obj, options, lines):
    """Make rubrics of the sections of docstrings that numpydoc does not know; they stand in front of the parameters."""
    for line in range(len(lines) - 1, 0, -1):
        if set(lines[line]) == {"-"} and lines[line - 1] in ("Privacy", "Complexity"):
            lines[line - 1 : line + 1] = [f".. rubric:: {lines[line - 1]}", ""]


def setup(app):
    """Have docstrings prepared before numpydoc reads them."""
    app.connect("autodoc-process-docstring", privacy_sections, priority=400)
