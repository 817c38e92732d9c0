"""Names the machines that a wheel is for: any Python 3, and those that can run the program in it."""

import os

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class Tag(BuildHookInterface):
    def initialize(self, version, build_data):
        build_data["pure_python"] = False
        build_data["tag"] = "py3-none-" + os.environ["WHYCRASH_PLATFORM"]
