"""Reads the files of a load with independent tools: Python's csv, and its HdrHistogram library.

Usage: foreign.py LOAD.json LOAD.csv LOAD.hlog
Prints what it read as one JSON object, which foreign.rs checks.
"""

import csv
import json
import sys

from hdrh.histogram import HdrHistogram
from hdrh.log import HistogramLogReader

QUANTILES = {"p50_ns": 50.0, "p75_ns": 75.0, "p90_ns": 90.0, "p95_ns": 95.0, "p99_ns": 99.0, "p999_ns": 99.9}


def figures(histogram):
    found = {name: histogram.get_value_at_percentile(level) for name, level in QUANTILES.items()}
    return found | {"count": histogram.get_total_count(), "max_ns": histogram.get_max_value()}


def decoded(times):
    """Returns the figures of a distribution in the document."""
    return figures(HdrHistogram.decode(times["histogram"]))


def read_document(path):
    with open(path, encoding="utf-8") as file:
        document = json.load(file)
    whole = {name: decoded(document[name]) for name in ("response_time", "service_time", "lateness")}
    labels = {name: decoded(group["response_time"]) for name, group in document["labels"].items()}
    return {"whole": whole, "labels": labels}


def read_rows(path):
    """Returns every cell of every row, as a number if it is not empty."""
    with open(path, newline="", encoding="utf-8") as file:
        rows = csv.DictReader(file, strict=True)
        return [{name: float(cell) if cell else None for name, cell in row.items()} for row in rows]


def read_log(path):
    """Returns, by tag, the intervals and their sum."""
    reader = HistogramLogReader(path, HdrHistogram(1, 3_600_000_000_000, 3))
    tags = {}
    while histogram := reader.get_next_interval_histogram():
        tag = tags.setdefault(
            histogram.get_tag(), {"intervals": [], "sum": HdrHistogram(1, 3_600_000_000_000, 3)}
        )
        begin, end = histogram.get_start_time_stamp() / 1e3, histogram.get_end_time_stamp() / 1e3
        tag["intervals"].append({"begin_s": begin, "end_s": end} | figures(histogram))
        tag["sum"].add(histogram)
    reader.close()
    return {name: tag | {"sum": figures(tag["sum"])} for name, tag in tags.items()}


def main():
    document, rows, log = sys.argv[1:]
    read = {"document": read_document(document), "rows": read_rows(rows), "log": read_log(log)}
    json.dump(read, sys.stdout)


main()
