"""Find the programs that some tests need beside Python; as root on Debian, install them. Prints where they are.

    python scripts/programs.py chromium pgbouncer

A variable names another one, e.g. `LAMINA_CHROMIUM`. Without a program its tests are skipped, except where
`REQUIRE_CHROMIUM` is set (and so on for each).
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Program:
    """A program of a Debian package, by the names that it has elsewhere."""

    package: str
    names: tuple[str, ...]
    tests: str  # that need it

    @property
    def variable(self) -> str:
        return f"LAMINA_{self.package.upper()}"

    @property
    def required(self) -> bool:
        return bool(os.environ.get(f"REQUIRE_{self.package.upper()}"))

    @property
    def how(self) -> str:
        return f"no {self.package}: `apt-get install {self.package}` gets one, or {self.variable} names another"

    def found(self) -> str | None:
        """Where it is on this machine."""
        named = os.environ.get(self.variable)
        path = f"{os.environ.get('PATH', '')}{os.pathsep}/usr/sbin"
        return next((at for name in ([named] if named else self.names) if (at := shutil.which(name, path=path))), None)

    def install(self) -> None:
        """Install Debian's, if that can be done here without asking."""
        if os.geteuid() != 0 or shutil.which("apt-get") is None:
            return
        get = ["apt-get", "install", "--yes", "--no-install-recommends", self.package]
        quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        print(f"{self.tests} need {self.package}, which is not here. Running: {' '.join(get)}", flush=True)
        for command in (get, ["apt-get", "update"], get):
            done = subprocess.run(command, env=quiet, stdout=subprocess.DEVNULL, check=False)
            if command is get and done.returncode == 0:
                return


CHROMIUM = Program(
    "chromium",
    ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"),
    "The tests of the inspector",
)
PGBOUNCER = Program("pgbouncer", ("pgbouncer",), "The tests of PostgreSQL behind a pool")
PROGRAMS = {program.package: program for program in (CHROMIUM, PGBOUNCER)}


def main(names: Sequence[str]) -> int:
    """Whether a program that is required is missing."""
    if unknown := [name for name in names if name not in PROGRAMS]:
        print(f"no program {unknown[0]!r}; there are {', '.join(PROGRAMS)}", file=sys.stderr)
        return 2
    missing = False
    for program in map(PROGRAMS.__getitem__, names):
        if program.found() is None:
            program.install()
        if path := program.found():
            print(f"{program.package}: {path}")
        else:
            what = "fail" if program.required else "are skipped"
            print(f"{program.how}. {program.tests} {what} without it.", file=sys.stderr)
            missing |= program.required
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or list(PROGRAMS)))
