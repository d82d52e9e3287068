"""Runs a program on a terminal: password_terminal.py PROGRAM ARGUMENT… It types the password pw when it is asked for one. Prints what the
terminal shows, as JSON."""

import json, os, pty, sys

program = sys.argv[1:]
pid, terminal = pty.fork()
if pid == 0:
    os.environ["NO_COLOR"] = "1"
    os.execv(program[0], program)
written, asked = b"", False
try:
    while more := os.read(terminal, 65536):
        written += more
        if not asked and b"Password of" in written:
            asked = True
            os.write(terminal, b"pw\n")
except OSError:
    # The program has ended, and with it the terminal.
    pass
os.waitpid(pid, 0)
print(json.dumps(written.decode()))
