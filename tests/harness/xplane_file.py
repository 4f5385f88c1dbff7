# SPDX-License-Identifier: Apache-2.0
"""XSpace files, read by protobuf's own library from the schema written down here.

The field numbers are those of xla/tsl/profiler/protobuf/xplane.proto.
"""

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

# message: {field: (number, type, repeated)}
SCHEMA = {
    "XStat": {
        "metadata_id": (1, "int64", False),
        "double_value": (2, "double", False),
        "uint64_value": (3, "uint64", False),
        "int64_value": (4, "int64", False),
        "str_value": (5, "string", False),
        "bytes_value": (6, "bytes", False),
        "ref_value": (7, "uint64", False),
    },
    "XEvent": {
        "metadata_id": (1, "int64", False),
        "offset_ps": (2, "int64", False),
        "duration_ps": (3, "int64", False),
        "stats": (4, "XStat", True),
    },
    "XLine": {
        "id": (1, "int64", False),
        "name": (2, "string", False),
        "timestamp_ns": (3, "int64", False),
        "events": (4, "XEvent", True),
        "display_name": (11, "string", False),
    },
    "XEventMetadata": {
        "id": (1, "int64", False),
        "name": (2, "string", False),
        "display_name": (4, "string", False),
    },
    "XStatMetadata": {"id": (1, "int64", False), "name": (2, "string", False)},
    "EventEntry": {"key": (1, "int64", False), "value": (2, "XEventMetadata", False)},
    "StatEntry": {"key": (1, "int64", False), "value": (2, "XStatMetadata", False)},
    "XPlane": {
        "id": (1, "int64", False),
        "name": (2, "string", False),
        "lines": (3, "XLine", True),
        "event_metadata": (4, "EventEntry", True),
        "stat_metadata": (5, "StatEntry", True),
        "stats": (6, "XStat", True),
    },
    "XSpace": {"planes": (1, "XPlane", True)},
}


def _message_class():
    field = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(name="x.proto", package="x", syntax="proto3")
    for name, fields in SCHEMA.items():
        message = file.message_type.add(name=name)
        for key, (number, kind, repeated) in fields.items():
            entry = message.field.add(name=key, number=number)
            entry.label = field.LABEL_REPEATED if repeated else field.LABEL_OPTIONAL
            if kind in SCHEMA:
                entry.type, entry.type_name = field.TYPE_MESSAGE, f".x.{kind}"
            else:
                entry.type = getattr(field, f"TYPE_{kind.upper()}")
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("x.XSpace"))


def _stats(plane, stats):
    names = {entry.key: entry.value.name for entry in plane.stat_metadata}
    result = {}
    for stat in stats:
        field, value = stat.ListFields()[-1]
        if field.name == "ref_value":
            value = names[value]
        elif field.name == "metadata_id":
            value = 0
        assert names[stat.metadata_id] not in result, "a stat is there twice"
        result[names[stat.metadata_id]] = value
    return result


def read(path):
    """{plane: {"id", "stats", "lines": [{"title", "id", "events": [{"name", "shown", "start_ns",
    "dur_ns", "stats"}]}]}}. Fails for unknown fields and for numbers that mean nothing."""
    space = _message_class()()
    with open(path, "rb") as file:
        data = file.read()
    space.MergeFromString(data)
    # A field that the schema does not have would be kept, and change the length.
    assert len(space.SerializeToString()) <= len(data)
    planes = {}
    for plane in space.planes:
        names = {entry.key: entry.value for entry in plane.event_metadata}
        assert all(key == value.id for key, value in names.items())
        lines = []
        for line in plane.lines:
            assert line.timestamp_ns == 0
            events = []
            for event in line.events:
                name = names[event.metadata_id]
                assert event.offset_ps % 1000 == 0 and event.duration_ps % 1000 == 0
                events.append({
                    "name": name.name,
                    "shown": name.display_name or name.name,
                    "start_ns": event.offset_ps // 1000,
                    "dur_ns": event.duration_ps // 1000,
                    "stats": _stats(plane, event.stats),
                })
            lines.append({"title": line.display_name or line.name, "id": line.id,
                          "events": events})
        assert plane.name not in planes
        planes[plane.name] = {"id": plane.id, "stats": _stats(plane, plane.stats),
                              "lines": lines}
    return planes
