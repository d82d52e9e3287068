"""Runs a program on a terminal: password_terminal.py KEYS PROGRAM ARGUMENT… It types the keys, such as pw\\n, when it is asked for a
password. Prints what the terminal shows and the exit status, as JSON."""

import json, os, pty, sys

keys, program = sys.argv[1].encode().decode("unicode_escape").encode(), sys.argv[2:]
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
            os.write(terminal, keys)
except OSError:
    # The program has ended, and with it the terminal.
    pass
status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
print(json.dumps({"shown": written.decode(), "status": status}))
