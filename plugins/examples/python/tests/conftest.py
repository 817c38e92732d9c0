"""Puts the interface's types, made from `wit/`, where tests find them."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
BINDINGS = ROOT / "build" / "bindings"

if not BINDINGS.is_dir():
    tool = Path(sys.executable).with_name("componentize-py")
    subprocess.run([tool, "-d", ROOT / "wit", "-w", "plugin", "bindings", BINDINGS], check=True)
sys.path[:0] = [str(ROOT), str(BINDINGS)]
