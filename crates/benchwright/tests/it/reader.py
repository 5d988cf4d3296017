"""Reads a results directory, using only the reference page of the format.

usage: reader.py PAGE DIRECTORY

Fails on a field that the page does not name, on a missing field that the page requires, and on a
histogram whose percentiles differ from those beside it. Prints what it read, as JSON.
"""

import base64
import json
import os
import re
import struct
import sys
import zlib


def tables(page):
    """Returns the fields of each section of the page: path -> (is optional, type)."""
    found, section = {}, None
    for line in page.splitlines():
        heading = re.match(r"#{2,3} (\S+)", line)
        if heading:
            section = found.setdefault(heading.group(1), {})
        row = re.match(r"\| `([^`]+)` \| ([^|]*) \| ([^|]*)\|", line)
        if row and section is not None:
            path, kind, meaning = (part.strip() for part in row.groups())
            section[path] = (meaning.startswith("optional"), kind)
    return found


class Reader:
    def __init__(self, page):
        self.tables = tables(page)
        for part in ("group", "times", "part"):
            assert self.tables[part], f"the page has no table `{part}`"
        self.histograms = 0

    def check(self, where, value, section):
        """Walks a document along a section's paths."""
        fields = dict(self.tables[section])
        if section == "load.json":
            fields.update(self.tables["part"])
        self.walk(where, value, fields, "")
        for path, (optional, _) in fields.items():
            plain = re.fullmatch(r"[a-z0-9_.]+", path)
            if plain and not optional and not has(value, path.split(".")):
                raise SystemExit(f"{where}: {path} is missing")

    def walk(self, where, value, fields, path):
        at = fields.get(path)
        kind = at[1] if at else ""
        if kind == "*times*":
            return self.times(f"{where}: {path}", value)
        if kind == "*entry*":
            return self.check(where, value, "journal.jsonl")
        if kind == "*comparison*":
            return self.check(where, value, "comparison")
        if kind == "*group*":
            return self.check(where, value, "group")
        if kind == "*objective*":
            slo = {key.removeprefix("slo[]."): field
                   for key, field in self.tables["journal.jsonl"].items() if key.startswith("slo[].")}
            return self.walk(where, value, slo, "")
        if isinstance(value, dict):
            for name, item in value.items():
                inside = fields
                if section_of(path) in ("targets[]", "segments[]"):
                    beside = "part" if path == "targets[]" else "group"
                    inside = fields | {f"{path}.{key}": field for key, field in self.tables[beside].items()}
                self.walk(where, item, inside, self.step(where, inside, path, name))
        elif isinstance(value, list):
            for item in value:
                self.walk(where, item, fields, path + "[]")
        elif at is None:
            raise SystemExit(f"{where}: {path} is not on the page")

    def step(self, where, fields, path, name):
        """Returns the path of a name, or of the wildcard that matches it."""
        prefix = f"{path}." if path else ""
        for candidate in (prefix + name, prefix + "*"):
            if any(key == candidate or key.startswith((candidate + ".", candidate + "[]")) for key in fields):
                return candidate
        raise SystemExit(f"{where}: {prefix}{name} is not on the page")

    def times(self, where, times):
        names = set(self.tables["times"])
        if set(times) != names:
            raise SystemExit(f"{where}: {set(times) ^ names} differ from the page")
        values = decode(times["histogram"])
        count = sum(n for _, n in values)
        assert count == times["count"], f"{where}: {count} in the histogram, {times['count']} beside it"
        for name, level in (("p50_ns", 0.5), ("p99_ns", 0.99)):
            own = quantile(values, level)
            assert abs(own - times[name]) <= times[name] / 500 + 1, f"{where}: {name} {times[name]}, {own}"
        self.histograms += 1


def section_of(path):
    return path if path in ("targets[]", "segments[]") else ""


def has(value, names):
    for name in names:
        if not isinstance(value, dict) or name not in value:
            return False
        value = value[name]
    return True


def decode(text):
    """Returns the buckets of a histogram as the page describes it: middle value and count."""
    raw = base64.b64decode(text)
    cookie, length = struct.unpack(">II", raw[:8])
    assert cookie == 0x1C849314, hex(cookie)
    inner = zlib.decompress(raw[8:8 + length])
    cookie, length, offset, digits = struct.unpack(">IIII", inner[:16])
    assert (cookie, offset, digits) == (0x1C849313, 0, 3), (hex(cookie), offset, digits)
    payload, index, place, values = inner[40:40 + length], 0, 0, []
    while place < len(payload):
        number, shift = 0, 0
        for taken in range(9):
            byte = payload[place]
            place += 1
            number |= (byte if taken == 8 else byte & 0x7F) << shift
            shift += 7
            if taken < 8 and byte < 0x80:
                break
        number = (number >> 1) ^ -(number & 1)
        if number < 0:
            index -= number
        else:
            if number:
                values.append((value_of(index), number))
            index += 1
    return values


def value_of(index):
    if index < 2048:
        return index
    doubled = (index - 2048) // 1024 + 1
    width = 1 << doubled
    return (1024 + (index - 2048) % 1024) * width + width // 2


def quantile(values, level):
    wanted, seen = level * sum(n for _, n in values), 0
    for value, n in values:
        seen += n
        if wanted <= seen:
            return value


def main(page, directory):
    with open(page, encoding="utf-8") as file:
        reader = Reader(file.read())

    def document(name, section):
        with open(os.path.join(directory, name), encoding="utf-8") as file:
            value = json.load(file)
        reader.check(name, value, section)
        return value

    manifest = document("manifest.json", "manifest.json")
    assert manifest["version"] == 3, manifest["version"]
    document("environment.json", "environment.json")
    answer = document("answer.json", "answer.json")
    trials = []
    with open(os.path.join(directory, "journal.jsonl"), encoding="utf-8") as journal:
        for line in journal:
            assert line.endswith("\n")
            entry = json.loads(line)
            reader.check(f"trial {entry['trial']}", entry, "journal.jsonl")
            load = document(f"trials/{entry['trial']}/load.json", "load.json")
            document(f"trials/{entry['trial']}/components.json", "components.json")
            trials.append({
                "trial": entry["trial"],
                "ok": load["counts"]["ok"],
                "p99_ns": load["response_time"]["p99_ns"],
                "outcomes": sum(load["outcomes"].values()),
                "intended": load["counts"]["intended"],
            })
    summary = {"verdict": answer["verdict"], "trials": trials, "histograms": reader.histograms}
    print(json.dumps(summary))


if __name__ == "__main__":
    main(*sys.argv[1:])
