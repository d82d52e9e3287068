"""Runs a program on a terminal: progress_terminal.py COLUMNS COUNT TEXT PROGRAM ARGUMENT… It waits until the terminal shows COUNT lines that
have the text, and presses Ctrl-C. Prints a line of JSON: `shown`, these lines, `left`, the lines at the end, and `status`."""

import fcntl, json, os, pty, re, signal, struct, sys, termios

columns, count, text, program = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4:]
pid, terminal = pty.fork()
if pid == 0:
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    os.environ["TERM"] = "xterm"
    os.execv(program[0], program)
written = b""


def screen():
    """Returns the lines that a terminal without a right margin shows, but for the loader's remark about another libcurl."""
    lines, row, column = [""], 0, 0
    output = re.sub("[^\n]*no version information available[^\n]*\n", "", written.decode(errors="replace"))
    for part in re.findall(r"\x1b\[[0-9;]*[A-Za-z]|\r\n|\r|[^\x1b\r]+", output):
        if part == "\r\n":
            row, column = row + 1, 0
            lines += [""] * (row + 1 - len(lines))
        elif part == "\r":
            column = 0
        elif not part.startswith("\x1b"):
            lines[row] = lines[row][:column] + part + lines[row][column + len(part) :]
            column += len(part)
        elif part.endswith("F"):
            row, column = row - int(part[2:-1]), 0
        elif part.endswith("K"):
            lines[row] = lines[row][:column]
        elif part.endswith("J"):
            lines[row:] = [lines[row][:column]]
    return lines


shown = None
try:
    while more := os.read(terminal, 65536):
        written += more
        lines = [line for line in screen() if text in line]
        if shown is None and len(lines) == count:
            shown = lines
            os.kill(pid, signal.SIGINT)
except OSError:
    # The program has ended, and with it the terminal.
    pass
status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
print(json.dumps({"shown": shown, "left": screen(), "status": status}))
