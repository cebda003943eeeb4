"""The last step: the release, to read, to name and to take away; and how to make it without the page."""

from __future__ import annotations

import shutil
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.responses import FileResponse, HTMLResponse, Response

from dpmondrian.web.guard import REPORT_POLICY
from dpmondrian.web.jobs import RUNNING
from dpmondrian.web.site import Asked, Site, render, saved, to_step
from dpmondrian.web.steps.run import recipe_of, schema_text_of, warnings_in
from dpmondrian.web.works import Work

if TYPE_CHECKING:
    from dpmondrian.release import Release

_LONGEST_NAME = 60
_KINDS = {
    "release.json": "application/json",
    "centres.csv": "text/csv",
    "profiles.csv": "text/csv",
    "report.html": "text/html",
}


def result(site: Site, asked: Asked) -> Response:
    """Show the release."""
    work = asked.work
    if not site.is_done(work):
        return to_step(work, "run")
    from dpmondrian.show import one_cluster_text

    _forget_copy(site, work)
    release, recipe = _release(site, work), recipe_of(site, work)
    n_found = len(release.sizes)
    return render(
        "result.html",
        site,
        asked,
        step="result",
        found=[_card(release, cluster) for cluster in range(n_found)],
        k=n_found,
        releasable=release.privacy.releasable,
        files=[name for name in _KINDS if (_folder(site, work) / name).is_file()],
        one=one_cluster_text(release, "page") if release.found_one else "",
        messages=warnings_in(site.run_of(work).messages()),
        command=recipe.command(),
        script=recipe.script(),
        schema=work.run["schema"],
        out=work.run["out"],
    )


def _forget_copy(site: Site, work: Work) -> None:
    """Delete a dropped file: its release is made."""
    folder = site.works.folder_of(work.id) / "dropped"
    if folder.exists():
        shutil.rmtree(folder, ignore_errors=True)


def _folder(site: Site, work: Work) -> Path:
    return site.root.inside(work.run["out"], what="folder of results")


def _release(site: Site, work: Work) -> Release:
    path = _folder(site, work) / "release.json"
    return _loaded(path, path.stat().st_mtime_ns)


@lru_cache(maxsize=8)
def _loaded(path: Path, _: int) -> Release:
    from dpmondrian.release import Release

    return Release.load(path)


def _card(release: Release, cluster: int) -> dict[str, Any]:
    """Return a cluster in words: a name for it, its size, and what sets it apart."""
    from dpmondrian.show.texts import cluster_size_text, difference_text, proposed_name

    apart = () if release.profiles is None else release.profiles.differences(cluster)
    return {
        "proposed": proposed_name(release, cluster),
        "size": cluster_size_text(release, cluster),
        "apart": [difference_text(one) for one in apart],
    }


def names(site: Site, asked: Asked) -> Response:
    """Keep what the user calls the clusters; when that is finished, put it into the release, beside what is signed, and draw the report again."""
    with site.works.changed(asked.work.id) as work:
        typed = {key.removeprefix("name-"): text for key, text in asked.form.items() if key.startswith("name-")}
        work.names = {key: text.strip()[:_LONGEST_NAME] for key, text in typed.items() if text.strip()}
    if asked.is_draft:
        return saved()
    _write_names(_folder(site, work), _release(site, work), work.names)
    return to_step(work, "result")


def _write_names(folder: Path, release: Release, names: dict[str, str]) -> None:
    from dpmondrian.common.whole_files import write_file
    from dpmondrian.show.report import render_report

    for cluster in range(len(release.sizes)):
        release = release.named_cluster(cluster, names.get(str(cluster), ""))
    release.save(folder / "release.json")
    write_file(folder / "report.html", render_report(release), overwrite=True)


def report(site: Site, asked: Asked) -> Response:
    """Show the report, as an origin of its own that can reach nothing of this page."""
    text = (_folder(site, asked.work) / "report.html").read_text(encoding="utf-8")
    return HTMLResponse(text, headers={"content-security-policy": REPORT_POLICY})


def download(site: Site, asked: Asked) -> Response:
    """Send one of the files of the release, or what makes it again."""
    work, name = asked.work, asked.request.path_params["name"]
    if not site.is_done(work):
        return Response(status_code=404)
    made = {
        "schema.toml": lambda: schema_text_of(work),
        "cluster.py": lambda: recipe_of(site, work).script(),
        "cluster.ipynb": lambda: recipe_of(site, work).notebook(),
    }
    if name in made:
        headers = {
            "content-disposition": f'attachment; filename="{work.stem.encode("ascii", "ignore").decode() or "table"}-{name}"'
        }
        return Response(made[name](), media_type="text/plain; charset=utf-8", headers=headers)
    if name not in _KINDS or not (_folder(site, work) / name).is_file():
        return Response(status_code=404)
    headers = {"content-security-policy": REPORT_POLICY}
    return FileResponse(_folder(site, work) / name, media_type=_KINDS[name], filename=name, headers=headers)


def again(site: Site, asked: Asked) -> Response:
    """Begin another clustering of the same table, with what was typed for this one; a dropped copy moves along."""
    work = asked.work
    copy = site.works.folder_of(work.id) / "dropped"
    if site.run_of(work).state == RUNNING or (work.source.get("dropped") and not copy.exists()):
        return to_step(work, site.next_step(work))
    kept = {
        "source": work.source,
        "columns": work.columns,
        "people": work.people,
        "plan": work.plan,
        "estimate": work.estimate,
    }
    new = site.works.new(**kept, account=work.account, run={"passed": ["columns"]})
    if copy.exists():
        copy.rename(site.works.folder_of(new.id) / "dropped")
    return to_step(new, "plan")
