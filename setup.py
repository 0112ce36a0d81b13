"""Puts the app and the bundled tables, which lie beside the package, into what is installed."""

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

BESIDE = {
    "_app": ("app.py", "pages/*.py", ".streamlit/config.toml"),
    "_samples": ("sample_data/*.csv.gz", "sample_data/*.json", "sample_data/*.md"),
}
"""Folder inside the package: the files of the repository that go there."""


class BuildWithApp(build_py):
    """Builds the package; an editable installation finds these files where they are."""

    def run(self) -> None:
        super().run()
        if not self.editable_mode:
            for source, target in self._copies().items():
                Path(target).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(source, target)

    def get_outputs(self, include_bytecode: bool = True) -> list[str]:
        copied = [] if self.editable_mode else list(self._copies().values())
        return [*super().get_outputs(include_bytecode), *copied]

    def _copies(self) -> dict[str, str]:
        package = Path(self.build_lib) / "loopylatent"
        return {
            str(source): str(package / folder / _inside(folder, source))
            for folder, patterns in BESIDE.items()
            for pattern in patterns
            for source in sorted(Path().glob(pattern))
        }


def _inside(folder: str, source: Path) -> Path:
    """The samples lie side by side; the app keeps its folders."""
    return source if folder == "_app" else Path(source.name)


setup(cmdclass={"build_py": BuildWithApp})
