"""The package as it is built and installed. Runs with the Python of locks/build.txt, which has what builds it; no network."""
from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest
import zipfile
from email.parser import HeaderParser

PYTHON = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SOURCE = os.path.join(PYTHON, "src", "ullage")
EPOCH = 1_700_000_000

# All that `import ullage` may import beyond what Python's own start-up has.
IMPORTS = ["__future__", "ullage"]
IMPORT = """
import json, sys
before = set(sys.modules)
import ullage
new = sorted(set(sys.modules) - before)
print(json.dumps({"file": ullage.__file__, "version": ullage.__version__, "new": new}))
"""


def run(*command: str, **environ: str) -> str:
    """Runs a command in an environment that does not know of the source tree, and returns what it prints."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "PIP_"))}
    done = subprocess.run(command, env={**clean, **environ}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        raise AssertionError(f"{command} ended with {done.returncode}:\n{done.stdout}")
    return done.stdout


def digests(folder: str) -> dict[str, str]:
    found = {}
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name), "rb") as f:
            found[name] = hashlib.sha256(f.read()).hexdigest()
    return found


def source_files() -> set[str]:
    found = set()
    for folder, _, names in os.walk(SOURCE):
        found |= {os.path.relpath(os.path.join(folder, n), os.path.dirname(SOURCE)) for n in names if n.endswith((".py", ".pyi", ".typed"))}
    return found


class Package(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = os.path.realpath(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)

    def copy(self, name: str) -> str:
        """A copy of the tree: building may leave something behind. Times of files are those of the copying."""
        to = os.path.join(self.folder, name)
        shutil.copytree(PYTHON, to, ignore=shutil.ignore_patterns("dist", "__pycache__"), copy_function=shutil.copyfile)
        return to

    def build(self, name: str) -> str:
        dist = os.path.join(self.folder, name + "-dist")
        tree = self.copy(name)
        command = [sys.executable, "-m", "hatchling", "build", "-d", dist]
        done = subprocess.run(command, cwd=tree, env={**os.environ, "SOURCE_DATE_EPOCH": str(EPOCH)}, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return dist

    def venv(self, name: str, *options: str) -> str:
        run(sys.executable, "-m", "venv", *options, os.path.join(self.folder, name))
        return os.path.join(self.folder, name, "Scripts" if os.name == "nt" else "bin", "python")

    def one(self, dist: str, ending: str) -> str:
        names = [n for n in os.listdir(dist) if n.endswith(ending)]
        self.assertEqual(len(names), 1, names)
        return os.path.join(dist, names[0])

    def test_same_bytes(self) -> None:
        first, second = self.build("first"), self.build("second")
        self.assertEqual(digests(first), digests(second))
        self.assertEqual(len(digests(first)), 2)

    def test_content(self) -> None:
        dist = self.build("tree")
        with zipfile.ZipFile(self.one(dist, ".whl")) as z:
            names = set(z.namelist())
            info = next(n for n in names if n.endswith(".dist-info/METADATA"))
            meta = HeaderParser().parsestr(z.read(info).decode())
        self.assertEqual({n for n in names if ".dist-info/" not in n}, source_files())
        self.assertIn("ullage/py.typed", names)
        self.assertEqual((meta["Name"], meta["Requires-Python"], meta["License-Expression"], meta.get_all("Requires-Dist")), ("ullage", ">=3.9", "Apache-2.0", None))
        with tarfile.open(self.one(dist, ".tar.gz")) as t:
            inside = {n.split("/", 1)[1] for n in t.getnames() if "/" in n}
        self.assertEqual({n for n in inside if n.startswith("src/")}, {"src/" + n for n in source_files()})
        self.assertEqual({n.split("/")[0] for n in inside} - {".gitignore"}, {"src", "README.md", "LICENSE", "pyproject.toml", "PKG-INFO"})

    def test_licence(self) -> None:
        texts = []
        for folder in (PYTHON, os.path.dirname(PYTHON)):
            with open(os.path.join(folder, "LICENSE"), "rb") as f:
                texts.append(f.read())
        self.assertEqual(*texts)

    def test_pip_install(self) -> None:
        """`pip install ./python`. The tools that build come from this environment, not from a registry; else it is the user's way."""
        python = self.venv("clean")
        tools = os.path.dirname(os.path.dirname(__import__("hatchling").__file__))
        run(python, "-m", "pip", "install", "--no-build-isolation", "--no-index", self.copy("tree"), PYTHONPATH=tools)
        said = json.loads(run(python, "-c", IMPORT))
        self.assertTrue(said["file"].startswith(os.path.join(self.folder, "clean")), said["file"])
        self.assertIn(f"Version: {said['version']}\n", run(python, "-m", "pip", "show", "ullage"))
        self.assertEqual(said["new"], IMPORTS)

    def test_wheel_on_every_python(self) -> None:
        wheel = self.one(self.build("tree"), ".whl")
        pythons = os.environ["ULLAGE_PYTHONS"].splitlines()
        self.assertTrue(pythons)
        for line in pythons:
            version, python = line.split(" ", 1)
            with self.subTest(version):
                where = os.path.join(self.folder, "for-" + version)
                run(sys.executable, "-m", "pip", "install", "-q", "--no-index", "--no-compile", "--target", where, "--python-version", version, "--only-binary=:all:", wheel)
                said = json.loads(run(python, "-B", "-c", IMPORT, PYTHONPATH=where))
                self.assertEqual(said["new"], IMPORTS)


if __name__ == "__main__":
    unittest.main()
