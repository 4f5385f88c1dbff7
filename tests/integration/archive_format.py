# SPDX-License-Identifier: Apache-2.0
"""A reader of archives, written after docs/format-archive.md and nothing else.

It shares no code with infprof, so it fails when the document and the program disagree. zstd and
XXH3 come from the system's libraries, through ctypes.
"""

import ctypes
import ctypes.util
import struct

MASK64 = (1 << 64) - 1
FILE_MAGIC = b"\x89IFP\r\n\x1a\n"
FRAME_MAGIC = b"\xf1IFP"
INDEX_MAGIC = b"\xf1IFPINDX"
EVENTS, RUN, RANK, CLOCK, LEDGER, WINDOW, END, INDEX = range(1, 9)


def _library(name):
    found = ctypes.util.find_library(name)
    return ctypes.CDLL(found) if found else None


ZSTD = _library("zstd")
XXHASH = _library("xxhash")
if ZSTD:
    ZSTD.ZSTD_decompress.restype = ctypes.c_size_t
    ZSTD.ZSTD_decompress.argtypes = [
        ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t]
if XXHASH:
    XXHASH.XXH3_64bits.restype = ctypes.c_uint64
    XXHASH.XXH3_64bits.argtypes = [ctypes.c_char_p, ctypes.c_size_t]


def signed(value):
    return value - (1 << 64) if value >> 63 else value


def unzigzag(code, prediction):
    return (prediction + ((code >> 1) ^ -(code & 1))) & MASK64


class Cursor:
    def __init__(self, data):
        self.data = data
        self.at = 0

    def bytes(self, count):
        taken = self.data[self.at:self.at + count]
        assert len(taken) == count
        self.at += count
        return taken

    def u8(self):
        return self.bytes(1)[0]

    def varint(self):
        value = shift = 0
        while True:
            byte = self.u8()
            value |= (byte & 0x7F) << shift
            shift += 7
            if not byte & 0x80:
                return value

    def svarint(self):
        return signed(unzigzag(self.varint(), 0))

    def done(self):
        return self.at == len(self.data)


class Series:
    """Numbers packed as tokens and bits."""

    def __init__(self, tokens, bits):
        self.tokens = Cursor(tokens)
        self.bits = int.from_bytes(bits, "little")

    def next(self):
        token = self.tokens.u8()
        if token < 8:
            return token
        assert token <= 251
        length = (token - 8) // 4 + 4
        left = length - 3
        low = self.bits & ((1 << left) - 1)
        self.bits >>= left
        return (4 + (token - 8) % 4) << left | low

    def take(self, count):
        return [self.next() for _ in range(count)]


class Fresh:
    def __init__(self):
        self.next_id = 0

    def id(self, code):
        if code:
            return code - 1
        self.next_id += 1
        return self.next_id - 1


def read_frames(data):
    """The frames of an archive in order: (offset, type, rank, events, sequence, payload)."""
    assert data[:8] == FILE_MAGIC and struct.unpack_from("<II", data, 8) == (1, 0)
    at, frames = 16, []
    while at < len(data):
        magic, kind, rank, events, sequence, size, zero, of_payload, of_header = (
            struct.unpack_from("<4sIIIQIIQQ", data, at))
        payload = data[at + 48:at + 48 + size]
        assert magic == FRAME_MAGIC and zero == 0 and len(payload) == size
        if XXHASH:
            assert XXHASH.XXH3_64bits(payload, size) == of_payload
            assert XXHASH.XXH3_64bits(data[at:at + 40], 40) == of_header
        frames.append((at, kind, rank, events, sequence, payload))
        at += 48 + size
    return frames


def payload_bytes(data, at):
    """Of the frame whose header stands there."""
    return struct.unpack_from("<I", data, at + 24)[0]


def read_index(payload):
    """Entries as (offset, sequence, type, rank, events, bytes), and the trailer's offset."""
    entries = [struct.unpack_from("<QQIIII", payload, at)
               for at in range(0, len(payload) - 16, 32)]
    offset, magic = struct.unpack("<Q8s", payload[-16:])
    assert magic == INDEX_MAGIC
    return entries, offset


def read_clock(payload):
    cursor = Cursor(payload)
    version = cursor.u8()
    assert version in (1, 2, 3)
    tuples, last = [], [0, 0, 0]
    for _ in range(cursor.varint()):
        last = [(value + cursor.svarint()) & MASK64 for value in last]
        tuples.append((signed(last[0]), signed(last[1]), last[2], cursor.svarint()))
    edges = []
    for _ in range(cursor.varint()):
        edge = [cursor.varint() for _ in range(4)]
        edge += [cursor.svarint() for _ in range(6)]
        edges.append(tuple(edge + [cursor.varint()]))
    if version >= 2:
        _skip_collectives(cursor)
    for _ in range(cursor.varint() if version >= 3 else 0):  # suspensions
        for _ in range(4):
            cursor.svarint()
    assert cursor.done()
    return tuples, edges


def _skip_collectives(cursor):
    cursor.varint()  # how many more there were
    for _ in range(cursor.varint()):  # looks
        cursor.bytes(16)
        cursor.varint()
    for _ in range(cursor.varint()):
        cursor.varint()
        for _ in range(3):
            cursor.svarint()


def _sections(cursor):
    sizes = [(cursor.varint(), cursor.varint()) for _ in range(17)]
    sections = []
    for size, stored_size in sizes:
        stored = cursor.bytes(stored_size)
        if size != stored_size:
            raw = ctypes.create_string_buffer(size)
            assert ZSTD.ZSTD_decompress(raw, size, stored, stored_size) == size
            stored = raw.raw
        sections.append(stored)
    assert cursor.done()
    return sections


class Block:
    def __init__(self, payload):
        head = Cursor(payload)
        assert head.u8() == 1
        (self.count, self.text_count, self.lane_count, self.track_count, self.template_count,
         self.variant_count, self.shape_count, self.key_count) = (
            head.varint() for _ in range(8))
        self.sections = _sections(head)
        self._read_texts()
        self._read_tables()
        self._read_variants()
        self._read_shapes()
        self._read_sequence()

    def _series(self, first):
        return Series(self.sections[first], self.sections[first + 1])

    def _read_texts(self):
        lengths, texts = Cursor(self.sections[0]), Cursor(self.sections[1])
        self.texts = [texts.bytes(lengths.varint()) for _ in range(self.text_count)]
        self.templates = [texts.bytes(lengths.varint()) for _ in range(self.template_count)]
        assert lengths.done() and texts.done()

    def _read_tables(self):
        tables = Cursor(self.sections[2])
        self.lanes = [(tables.u8(), tables.svarint(), tables.svarint(),
                       self.texts[tables.varint()], self.texts[tables.varint()])
                      for _ in range(self.lane_count)]
        self.tracks = [(tables.varint(), *tables.bytes(6)) for _ in range(self.track_count)]
        self.slots = []  # by template: None, or [mode, key, values, last value]
        for template in self.templates:
            assert template[0] in (0, 1)
            slots = []
            for _ in range(template[1:].count(b"1") if template[0] else 0):
                code = tables.u8()
                slots.append([code - 1, tables.varint(), None, 0] if code else None)
            self.slots.append(slots)
        assert tables.done()

    def _read_variants(self):
        series, fresh = self._series(3), Fresh()
        of = [fresh.id(series.next()) for _ in range(self.variant_count)]
        self.variants = [(template, []) for template in of]
        for template, slots in enumerate(self.slots):
            members = [values for t, values in self.variants if t == template]
            for slot in slots:
                if slot is None:
                    for values in members:
                        values.append(series.next())

    def _read_shapes(self):
        series, count = self._series(5), self.shape_count
        fresh_track, fresh_variant = Fresh(), Fresh()
        tracks = [fresh_track.id(code) for code in series.take(count)]
        categories, names = series.take(count), series.take(count)
        variants = [fresh_variant.id(code) for code in series.take(count)]
        self.shapes = list(zip(tracks, categories, names, variants, series.take(count)))

    def _read_sequence(self):
        series, guesses = self._series(7), {}
        a = b = used = 0
        self.sequence = []
        for _ in range(self.count):
            slot = ((((a * 0x9E3779B1) & 0xFFFFFFFF) ^ b) * 0x85EBCA6B & 0xFFFFFFFF) >> 18
            code = series.next()
            shape = guesses[slot] if code == 0 else used if code == 1 else code - 2
            used += shape == used
            guesses[slot] = shape
            a, b = b, shape
            self.sequence.append(shape)

    def _numbers(self, first):
        """One number per event, which stand track by track."""
        series = self._series(first)
        numbers = [0] * self.count
        tracks = [self.shapes[shape][0] for shape in self.sequence]
        for track in range(self.track_count):
            for event in range(self.count):
                if tracks[event] == track:
                    numbers[event] = series.next()
        return numbers

    def _read_columns(self):
        series, uses = self._series(15), [0] * self.template_count
        for shape in self.sequence:
            uses[self.variants[self.shapes[shape][3]][0]] += 1
        for template, slots in enumerate(self.slots):
            for slot in slots:
                if slot is not None:
                    slot[2] = iter(series.take(uses[template]))

    def _args(self, variant, correlation, keys):
        template, fixed = self.variants[variant]
        form = self.templates[template]
        if form[0] == 0:
            return form[1:]
        fixed, numbers = iter(fixed), []
        for slot in self.slots[template]:
            if slot is None:
                numbers.append(next(fixed))
                continue
            mode, key, values, last = slot
            prediction = (0, last, keys[key], correlation, numbers[-1] if numbers else 0)[mode]
            slot[3] = keys[key] = unzigzag(next(values), prediction)
            numbers.append(slot[3])
        pieces = form[1:].split(b"1")
        return pieces[0] + b"".join(
            str(number).encode() + piece for number, piece in zip(numbers, pieces[1:]))

    def events(self):
        starts, durations, correlations = (self._numbers(i) for i in (9, 11, 13))
        self._read_columns()
        keys = [0] * self.key_count
        start = correlation = 0
        lane_start, lane_end = [0] * self.lane_count, [0] * self.lane_count
        track_start, track_correlation = [0] * self.track_count, [0] * self.track_count
        shape_duration = [0] * self.shape_count
        for i, shape in enumerate(self.sequence):
            track, category, name, variant, extra = self.shapes[shape]
            lane, kind, source, clock, start_mode, duration_mode, correlation_mode = (
                self.tracks[track])
            start = unzigzag(
                starts[i],
                (start, lane_start[lane], lane_end[lane], track_start[track])[start_mode])
            duration = unzigzag(durations[i], (0, shape_duration[shape])[duration_mode])
            own = unzigzag(
                correlations[i],
                (0, correlation, track_correlation[track])[correlation_mode])
            args = self._args(variant, own, keys)
            lane_start[lane], lane_end[lane] = start, (start + duration) & MASK64
            track_start[track], track_correlation[track] = start, own
            shape_duration[shape] = duration
            correlation = own or correlation
            yield (kind, source, clock, signed(start), signed(duration), own,
                   *self.lanes[lane][:3], *self.lanes[lane][3:], self.texts[name],
                   self.texts[category], args, self.texts[extra])
