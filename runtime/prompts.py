"""A few prompts of each class: prose, structured, code, shell_ops, tool_json. `prompts("code")[0]`."""

from __future__ import annotations

from typing import Literal, get_args

from stepprof.runtime.errors import ConfigError

Class = Literal["prose", "structured", "code", "shell_ops", "tool_json"]
CLASSES: tuple[Class, ...] = get_args(Class)

TEXTS: dict[Class, tuple[str, ...]] = {
    "prose": (
        "The harbour was quiet that morning, and the last of the fishing boats had come in before the fog.",
        "When my grandmother spoke of the war she never spoke of soldiers, only of bread and of the long road home.",
        "Explain to a friend, in plain words, why the sky turns red when the sun goes down.",
    ),
    "structured": (
        "| month | rainfall mm | sunny days |\n|---|---|---|\n| January | 88 | 4 |\n| February | 71 | 6 |\n",
        "1. Preheat the oven to 180 degrees.\n2. Whisk three eggs with the sugar.\n3. Fold in the flour.\n",
        "name: nightly-build\nschedule: '0 3 * * *'\nsteps:\n  - checkout\n  - build\n  - test\n",
    ),
    "code": (
        "def quicksort(items):\n    if len(items) <= 1:\n        return items\n    pivot = items[len(items) // 2]\n",
        "SELECT customer, sum(amount) AS total\nFROM invoices\nWHERE issued >= '2026-01-01'\nGROUP BY customer\n",
        "struct Node {\n    int key;\n    struct Node *left, *right;\n};\n\nstruct Node *insert(struct Node *root, int key) {\n",
    ),
    "shell_ops": (
        "$ git status --short\n M runtime/engine.py\n$ git add -u && git commit -m 'Fix the ring' && git push\n",
        "$ df -h / | tail -1\n/dev/sda1  200G  182G  18G  91% /\n$ du -sh /var/log/* | sort -h | tail -5\n",
        '$ for f in *.csv; do wc -l "$f"; done\n$ grep -c ERROR app.log\n42\n$ tail -n 20 app.log\n',
    ),
    "tool_json": (
        '{"tool": "get_weather", "arguments": {"city": "Lisbon", "unit": "celsius", "days": 3}}\n',
        '[{"id": 1, "status": "open", "labels": ["bug", "ui"]}, {"id": 2, "status": "closed", "labels": []}]\n',
        '{"name": "search_flights", "parameters": {"from": "OSL", "to": "NRT", "date": "2026-12-01", "adults": 2}}\n',
    ),
}


def prompts(name: str) -> tuple[str, ...]:
    """The prompts of a class."""
    for known in CLASSES:
        if known == name:
            return TEXTS[known]
    raise ConfigError(f"no prompt class '{name}'; there are {', '.join(CLASSES)}.")
