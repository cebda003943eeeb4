"""Builds the compiled kernels: every .pyx file becomes an extension module beside it. All else is in pyproject.toml."""

import os
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

ROOT = Path("src")
OPTIONS = {
    # Never fast-math: numbers are the same on every processor, so products and sums are not fused either.
    "unix": ["-O3", "-g0", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math"],
    "msvc": ["/O2", "/fp:precise"],
}
DIRECTIVES = {
    "boundscheck": False,
    "cdivision": True,
    "initializedcheck": False,
    "language_level": 3,
    "wraparound": False,
}


class Build(build_ext):
    """Compiles with the options of the compiler at hand."""

    def build_extensions(self) -> None:
        """Compile all modules."""
        for extension in self.extensions:
            extension.extra_compile_args = OPTIONS.get(self.compiler.compiler_type, [])
        super().build_extensions()


def extensions() -> list[Extension]:
    """Return one module per file, and one for what Cython adds to each of them otherwise."""
    files = sorted(ROOT.rglob("*.pyx"))
    modules = [Extension(".".join(file.relative_to(ROOT).with_suffix("").parts), [file.as_posix()]) for file in files]
    shared = "dpmondrian.kernels._views"
    compiled: list[Extension] = cythonize(
        [Extension(shared, ["_views.c"]), *modules],
        build_dir="build",
        include_path=["src"],
        compiler_directives=DIRECTIVES,
        shared_utility_qualified_name=shared,
    )
    return compiled


setup(ext_modules=extensions(), cmdclass={"build_ext": Build}, options={"build_ext": {"parallel": os.cpu_count()}})
