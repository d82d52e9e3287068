"""Violations that break an HTTP/2 connection for good (RFC 9113, section 5.4.1), as frames: each by its name."""

DATA, HEADERS, SETTINGS, WINDOW_UPDATE = 0, 1, 4, 8


def frame(kind, flags, stream_id, payload=b"", length=None):
    length = len(payload) if length is None else length
    return length.to_bytes(3, "big") + bytes([kind, flags]) + stream_id.to_bytes(4, "big") + payload


def violation(name, stream_id):
    """Returns the bytes that break the connection on which a stream has a response under way."""
    return {
        # FRAME_SIZE_ERROR: a byte more than the client allows.
        "large-frame": frame(DATA, 0, stream_id, bytes(16_385)),
        "settings-length": frame(SETTINGS, 0, 0, bytes(5)),
        # PROTOCOL_ERROR.
        "data-of-no-stream": frame(DATA, 0, 0, b"x"),
        "interleaved": frame(HEADERS, 0, stream_id) + frame(DATA, 0, stream_id, b"x"),
        # FLOW_CONTROL_ERROR.
        "window-overflow": frame(WINDOW_UPDATE, 0, 0, b"\x7f\xff\xff\xff") * 2,
        # COMPRESSION_ERROR: an index that no table has.
        "compression": frame(HEADERS, 5, stream_id, b"\xff\xff\xff\xff\x7f"),
    }[name]
