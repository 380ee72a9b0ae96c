"""The trace: its model, its file, and the meaning of its events."""

from tlxviz.trace.build import empty_events, events_from_columns, events_from_flat, events_from_rows
from tlxviz.trace.errors import TraceFileError, TraceReadError
from tlxviz.trace.file import SUFFIX, load_trace, numbered_path, save_trace
from tlxviz.trace.model import (
    COLUMNS,
    AgentRow,
    BarrierRow,
    BufferRow,
    Events,
    LaunchTrace,
    SiteRow,
    Trace,
    Track,
    TrackKind,
)
from tlxviz.trace.vocabulary import MEANINGS, EventMeaning, Work, answer_text, meaning, work_of_events

__all__ = [
    "COLUMNS",
    "MEANINGS",
    "SUFFIX",
    "AgentRow",
    "BarrierRow",
    "BufferRow",
    "EventMeaning",
    "Events",
    "LaunchTrace",
    "SiteRow",
    "Trace",
    "TraceFileError",
    "TraceReadError",
    "Track",
    "TrackKind",
    "Work",
    "answer_text",
    "empty_events",
    "events_from_columns",
    "events_from_flat",
    "events_from_rows",
    "load_trace",
    "meaning",
    "numbered_path",
    "save_trace",
    "work_of_events",
]
