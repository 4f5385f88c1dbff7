# SPDX-License-Identifier: Apache-2.0
"""Reads a trace in Perfetto's form, by the rules of its documents and without its code.

Knows the fields that infprof writes (trace/perfetto/fields.h) and no others: an unknown one is an
error. What a viewer would make of the packets: tracks, slices, instants, counters, arrows.
"""

import gzip
import struct

BOOTTIME, REALTIME, OF_SEQUENCE = 6, 1, 64
BEGIN, END, INSTANT, COUNTER = 1, 2, 3, 4


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def fields(data):
    """(number, value) of a message: an int, 8 bytes or bytes."""
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        if tag & 7 == 0:
            value, at = varint(data, at)
        elif tag & 7 == 1:
            value, at = data[at : at + 8], at + 8
        elif tag & 7 == 2:
            length, at = varint(data, at)
            value, at = data[at : at + length], at + length
            assert len(value) == length, "cut off"
        else:
            raise AssertionError(f"wire type {tag & 7}")
        yield tag >> 3, value


def message(data, **names):
    """A message as a dictionary; names: of its fields, by number as nNUMBER. A star behind a name:
    a list, of a field that is repeated."""
    known = {int(key[1:]): name for key, name in names.items()}
    read = {name[:-1]: [] for name in known.values() if name.endswith("*")}
    for number, value in fields(data):
        name = known[number]
        if name.endswith("*"):
            read[name[:-1]].append(value)
        else:
            assert name not in read, f"{name} twice"
            read[name] = value
    return read


def signed(value):
    return value - (1 << 64) if value >= 1 << 63 else value


class Trace:
    """A file, read: processes (by track), tracks, and events in order of time."""

    def __init__(self, path):
        content = path.read_bytes()
        self.bytes = gzip.decompress(content) if path.name.endswith(".gz") else content
        self.processes, self.tracks, self.root = {}, {}, None
        self.sequences = {}
        self.events = []  # (time, type, track, name, category, args, flows, value)
        self.zero = None
        for number, packet in fields(self.bytes):
            assert number == 1
            self.take_packet(message(
                packet, n6="snapshot", n8="timestamp", n10="sequence", n11="event",
                n12="interned", n13="flags", n58="clock", n59="default", n60="descriptor"))
        self.events.sort(key=lambda event: event[0])

    def take_packet(self, packet):
        if "descriptor" in packet:
            self.take_track(packet["descriptor"])
        if packet.get("flags") == 1:
            default = message(packet["default"], n58="clock")
            self.sequences[packet["sequence"]] = {"clock": default["clock"], "names": ({}, {}, {})}
        sequence = self.sequences.get(packet.get("sequence"))
        if "snapshot" in packet:
            self.take_clocks(packet["snapshot"], sequence)
        if "interned" in packet:
            interned = message(packet["interned"], n1="categories*", n2="names*", n3="annotations*")
            for table, entries in zip(sequence["names"], interned.values()):
                for entry in entries:
                    entry = message(entry, n1="iid", n2="text")
                    assert entry["iid"] not in table
                    table[entry["iid"]] = entry["text"].decode()
        if "event" in packet:
            assert packet["flags"] == 2
            self.take_event(packet, sequence)

    def take_track(self, data):
        track = message(data, n1="uuid", n2="name", n3="process", n5="parent", n8="counter",
                        n11="child_ordering", n12="order", n15="merge", n19="process_ordering")
        if track["uuid"] == 0:
            assert (track["child_ordering"], track["process_ordering"]) == (3, 1)
            self.root = track
            return
        assert (track["child_ordering"], track["merge"]) == (3, 2)
        if "process" in track:
            process = message(track["process"], n1="pid", n3="sort_index", n6="name")
            assert process["sort_index"] == track["order"]
            self.processes[track["uuid"]] = process["name"].decode()
        track["name"] = track.get("name", b"").decode()
        assert track["uuid"] not in self.tracks
        self.tracks[track["uuid"]] = track

    def take_clocks(self, data, sequence):
        clocks = {}
        for clock in message(data, n1="clocks*", n2="primary")["clocks"]:
            clock = message(clock, n1="id", n2="timestamp", n3="incremental")
            clocks[clock["id"]] = clock["timestamp"]
        if sequence is None:
            assert clocks[BOOTTIME] == clocks[REALTIME]
            self.zero = clocks[BOOTTIME]
        else:
            assert clocks[OF_SEQUENCE] == 0
            sequence["now"] = clocks[BOOTTIME]

    def take_event(self, packet, sequence):
        event = message(packet["event"], n3="categories*", n4="annotations*", n6="legacy", n9="type",
                        n10="name", n11="track", n30="value", n44="double", n47="flows*")
        at = packet["timestamp"]
        if packet.get("clock", sequence["clock"]) == OF_SEQUENCE:
            sequence["now"] += at
            at = sequence["now"]
        categories, names, annotations = sequence["names"]
        assert event["track"] in self.tracks
        value = event.get("value")
        if "double" in event:
            (value,) = struct.unpack("<d", event["double"])
        elif value is not None:
            value = signed(value)
        kind = event.get("type")
        flows = [int.from_bytes(flow, "little") for flow in event["flows"]]
        if kind is None:
            legacy = message(event["legacy"], n2="phase", n6="id", n12="enclosing")
            kind, value = chr(legacy["phase"]), legacy["id"]
        self.events.append((
            at - self.zero, kind, event["track"], names.get(event.get("name"), ""),
            ",".join(categories[c] for c in event["categories"]),
            self.members(event["annotations"], annotations), flows, value))

    def members(self, entries, names):
        read = {}
        for entry in entries:
            annotation = self.annotation(entry)
            name = names[annotation.pop("name")]
            read[name] = self.value(annotation, names)
        return read

    def annotation(self, data):
        return message(data, n1="name", n2="bool", n3="uint", n4="int", n5="double", n6="text",
                       n11="entries*", n12="elements*")

    def value(self, annotation, names):
        entries, elements = annotation.pop("entries"), annotation.pop("elements")
        if entries:
            return self.members(entries, names)
        if elements:
            return [self.value(self.annotation(element), names) for element in elements]
        ((kind, value),) = annotation.items()
        if kind == "double":
            return struct.unpack("<d", value)[0]
        return {"bool": bool, "uint": int, "int": signed, "text": bytes.decode}[kind](value)

    def rank_of(self, track):
        while track not in self.processes:
            track = self.tracks[track]["parent"]
        title = self.processes[track]
        return int(title.split()[1]) if title.startswith("rank ") else None

    def slices(self):
        """(track, name, category, start, end, args, flows) of all that nest; instants too."""
        stacks, read = {}, []
        for at, kind, track, name, category, args, flows, value in self.events:
            stack = stacks.setdefault(track, [])
            if kind == BEGIN:
                stack.append([track, name, category, at, None, args, flows])
                read.append(stack[-1])
            elif kind == END:
                assert stack, "an end without a beginning"
                stack.pop()[4] = at
            elif kind == INSTANT:
                read.append([track, name, category, at, None, args, flows])
            elif kind in ("s", "f"):
                stack[-1][6].append(value)
        assert not any(stacks.values()), "a beginning without an end"
        return read
