"""The program `ullage` of this tree, for tests of what calls it."""
import os
import subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))


def binary(folder):
    """Its path: what ULLAGE_BINARY names, else Go builds it in the folder."""
    named = os.environ.get("ULLAGE_BINARY")
    if named:
        return named
    path = os.path.join(folder, "ullage")
    subprocess.run(["go", "build", "-o", path, "./cmd/ullage"], cwd=ROOT, check=True)
    return path
