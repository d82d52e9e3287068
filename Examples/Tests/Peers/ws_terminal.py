"""Runs a program on a terminal: ws_terminal.py KEY PROGRAM ARGUMENT… It enters two lines, waits for each to come back, and then presses Ctrl
with the key. Prints a line of JSON: the exit status, and the messages of the server that the terminal shows, without their mark."""

import json, os, pty, re, sys

key, program = sys.argv[1], sys.argv[2:]
pid, terminal = pty.fork()
if pid == 0:
    os.execv(program[0], program)
shown = b""


def lines():
    """Returns the messages of the server: the lines behind the mark <."""
    plain = re.sub(rb"\x1b\[[0-9;]*[A-Za-z]", b"", shown)
    texts = [line.split(b"\r")[-1] for line in plain.split(b"\r\n")]
    return [text[2:] for text in texts if text.startswith(b"< ")]


try:
    for line in (b"one", "zwei ü".encode()):
        os.write(terminal, line + b"\n")
        while line not in lines():
            shown += os.read(terminal, 65536)
    os.write(terminal, bytes([ord(key) & 0x1F]))
    while more := os.read(terminal, 65536):
        shown += more
except OSError:
    # The program has ended, and with it the terminal.
    pass
status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
print(json.dumps({"status": status, "lines": [line.decode() for line in lines()]}))
