"""Prints what the readers of lines in Python say of each line of a file: `python3 lines.py FOLDER-OF-LIBRARY FILE`."""

import json
import sys

sys.path.insert(0, sys.argv[1])
from whycrash import Line, key_values, number, series, time_of  # noqa: E402


def plain(value):
    return value if value is None or value - value == 0 else str(value)


for text in open(sys.argv[2], encoding="utf-8").read().split("\n")[:-1]:
    pairs = key_values(text)
    values = [plain(point.value) for point in series([Line("x", 1, text)], "loss")]
    said = [pairs.get("loss"), pairs.get("name"), *(values or [None]), time_of(text), plain(number(text))]
    print(json.dumps(said))
