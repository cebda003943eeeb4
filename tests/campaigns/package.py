"""Whether the package works as it is built: ``make package``. No test of the suite; a minute or two, and it needs PyPI.

Builds the sdist, and the wheel from the sdist; looks at what is in them; installs the wheel alone into an empty environment; and
there runs a fit, the commands, the demo, and mypy on a user's script. Prints what it found; exit code 1 if something is wrong.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
DIST = ROOT / "dist"
UV = Path(sys.executable).with_name("uv")

LARGEST = {"wheel": 8 * 2**20, "sdist": 8 * 2**20}
"""In bytes: compiled kernels are most of a wheel, pictures most of an sdist."""
IN_WHEEL = (
    "dpmondrian/__init__.py",
    "dpmondrian/py.typed",
    "dpmondrian/privacy/door.py",
    "licenses/LICENSE",
    "entry_points.txt",
)
IN_SDIST = (
    "pyproject.toml",
    "README.md",
    "CHANGELOG.md",
    "LICENSE",
    "CITATION.cff",
    "SECURITY.md",
    "src/dpmondrian/py.typed",
)
NOWHERE = re.compile(
    r"(^|/)(\.venv|\.git|__pycache__|_build|demo-output|results-quick)/|\.(pyc|nbi|nbc|parquet|sqlite)$"
)
"""What must be in neither: caches, environments, tables."""

SMOKE = """
import sys
import numpy as np
import dpmondrian
from dpmondrian import DPM, PlotsMissingError, Release

assert sys.prefix in dpmondrian.__file__, dpmondrian.__file__
generator = np.random.default_rng(0)
rows = generator.normal(np.repeat([[20.0, 20.0], [80.0, 80.0]], 5000, axis=0), 3.0)
model = DPM(epsilon=1.0, bounds=(0, 100)).fit(rows)
assert model.n_clusters_ == 2, model.n_clusters_
model.save("release.json")
assert np.array_equal(DPM.load("release.json").predict(rows), model.labels_)
try:
    model.plot()
except PlotsMissingError as error:
    print("Without matplotlib:", error)
else:
    raise AssertionError("matplotlib is here, so the environment was not empty")
"""
IMPORT = "import time; begun = time.process_time(); {}; print(time.process_time() - begun)"


def run(*command: object, folder: Path, fails: bool = False) -> str:
    """Return what a command prints; end with its words if it fails, or does not although it should."""
    done = subprocess.run([str(word) for word in command], cwd=folder, capture_output=True, text=True, check=False)
    if (done.returncode != 0) != fails:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}\nexit code {done.returncode}")
    return done.stdout + done.stderr


def built() -> tuple[Path, Path]:
    """Return a new wheel, made of the sdist beside it, and that sdist."""
    shutil.rmtree(DIST, ignore_errors=True)
    run(UV, "build", "--quiet", "--no-create-gitignore", "--out-dir", DIST, folder=ROOT)
    [wheel], [sdist] = DIST.glob("*.whl"), DIST.glob("*.tar.gz")
    return wheel, sdist


def look_at(kind: str, path: Path, files: dict[str, bytes], expected: tuple[str, ...]) -> None:
    """End if something is missing from a distribution, or is in it that should not be."""
    missing = [name for name in expected if not any(file.endswith(name) for file in files)]
    unwanted = [file for file in files if NOWHERE.search(file)]
    local = [file for file, content in files.items() if str(ROOT).encode() in content]
    size = path.stat().st_size
    print(f"{path.name}: {len(files)} files, {size / 2**20:.2f} MiB")
    if missing or unwanted or local or size > LARGEST[kind]:
        sys.exit(
            f"Wrong in the {kind}: missing {missing}, unwanted {unwanted}, with paths of this machine {local}, {size} bytes"
        )


def look(wheel: Path, sdist: Path) -> None:
    """Look at what is in both distributions; the wheel holds one package and nothing else."""
    with zipfile.ZipFile(wheel) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    strange = {name.split("/")[0] for name in files} - {"dpmondrian"}
    if any(not name.endswith(".dist-info") for name in strange):
        sys.exit(f"The wheel installs more than dpmondrian: {strange}")
    kernels = [path.relative_to(ROOT / "src").with_suffix("").as_posix() for path in (ROOT / "src").rglob("*.pyx")]
    uncompiled = [name for name in kernels if not any(re.fullmatch(rf"{name}\..*\.(so|pyd)", file) for file in files)]
    if uncompiled:
        sys.exit(f"The wheel lacks compiled kernels: {uncompiled}")
    look_at("wheel", wheel, files, IN_WHEEL)
    with tarfile.open(sdist) as archive:
        members = [member for member in archive.getmembers() if member.isfile()]
        files = {member.name: archive.extractfile(member).read() for member in members}  # type: ignore[union-attr]
    look_at("sdist", sdist, files, IN_SDIST)


def seconds(python: Path, statement: str, folder: Path) -> float:
    """Return the processor time of an import, the least of five."""
    return min(float(run(python, "-c", IMPORT.format(statement), folder=folder)) for _ in range(5))


def try_out(wheel: Path, folder: Path) -> None:
    """Install the wheel alone, and do what a user would."""
    run(UV, "venv", "--quiet", "--python", sys.executable, folder / "env", folder=folder)
    python, dpm = folder / "env" / "bin" / "python", folder / "env" / "bin" / "dpm"
    run(UV, "pip", "install", "--quiet", "--python", python, wheel, folder=folder)
    print(run(UV, "pip", "check", "--python", python, folder=folder).strip())
    print(run(python, "-I", "-W", "error::DeprecationWarning:dpmondrian", "-c", SMOKE, folder=folder).strip())
    print(run(dpm, "--version", folder=folder).strip())
    print(run(dpm, "verify", "release.json", folder=folder).splitlines()[-1])
    print(run(dpm, "audit", folder=folder, fails=True).strip())
    run(dpm, "demo", "--out", "demo", folder=folder)
    print("The demo wrote", ", ".join(sorted(path.name for path in (folder / "demo").rglob("*") if path.is_file())))
    ours = seconds(python, "from dpmondrian import DPM", folder)
    theirs = seconds(python, "from sklearn.cluster import KMeans", folder)
    print(f"Importing DPM takes {ours:.2f} s of processor time, {ours / theirs:.2f} times KMeans of scikit-learn")
    run(UV, "pip", "install", "--quiet", "--python", python, "mypy", folder=folder)
    shutil.copy(ROOT / "tests" / "typed_user.py", folder / "script.py")
    print("mypy --strict:", run(python, "-m", "mypy", "--strict", "script.py", folder=folder).strip())


def main() -> None:
    """Build, look, try."""
    wheel, sdist = built()
    look(wheel, sdist)
    with tempfile.TemporaryDirectory() as folder:
        try_out(wheel, Path(folder))
    print("The package works.")


if __name__ == "__main__":
    main()
