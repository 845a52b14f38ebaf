"""Stands for the outside world: each effect is a line in a file, so that you can count how often it happened."""

import os


def effect(line: str) -> None:
    with open(os.environ.get("EFFECTS_FILE", "effects.log"), "a") as file:
        file.write(f"{line}\n")
