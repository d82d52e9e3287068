"""Runs a program on a terminal without colours: body_terminal.py PROGRAM ARGUMENT… Prints what the terminal gets, as JSON."""

import json, os, pty, sys

program = sys.argv[1:]
pid, terminal = pty.fork()
if pid == 0:
    os.environ["NO_COLOR"] = "1"
    os.execv(program[0], program)
written = b""
try:
    while more := os.read(terminal, 65536):
        written += more
except OSError:
    # The program has ended, and with it the terminal.
    pass
os.waitpid(pid, 0)
print(json.dumps(written.decode()))
