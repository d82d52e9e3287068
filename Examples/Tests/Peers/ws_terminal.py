"""Runs a program on a terminal: ws_terminal.py KEY PROGRAM ARGUMENT… It enters two lines, waits for each to come back, and then presses Ctrl
with the key. Prints a line of JSON: the exit status and the lines that the terminal shows. It shows no input, and so no line twice."""

import json, os, pty, sys, termios

key, program = sys.argv[1], sys.argv[2:]
pid, terminal = pty.fork()
if pid == 0:
    os.execv(program[0], program)
settings = termios.tcgetattr(terminal)
settings[3] &= ~termios.ECHO
termios.tcsetattr(terminal, termios.TCSANOW, settings)
shown = b""


def lines():
    """Returns the lines without the loader's remark about a libcurl other than the system's."""
    return [line for line in shown.split(b"\r\n") if line and b"no version information available" not in line]


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
