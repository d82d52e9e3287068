"""The cases of the Autobahn test suite for WebSocket clients, run by the package kosoku. Prints {"ca": "", "ports": {"ws": PORT}}.

Arguments are the cases, such as `1.*`; a case after a hyphen is left out. Paths are those of Autobahn: /getCaseCount sends the number
of cases, /runCase?case=N&agent=A runs one, /updateReports?agent=A ends the run. The question `results` is answered, after the end of
the run, with a list of cases: {"case", "behavior", "close", "what"}.
"""

import asyncio
import sys

import kosoku
import peer
from kosoku._caseindex import initialize_shims

# The modules of the cases are found from then on.
initialize_shims()
import case  # noqa: E402


class Patient:
    """The runner's side of a connection, with more time for each case.

    A case fails a second after its beginning if it has no answer, and ends at once when it has. On a busy machine, an answer may take longer.
    """

    FACTOR = 30

    def __init__(self, protocol):
        object.__setattr__(self, "protocol", protocol)

    def __getattr__(self, name):
        return getattr(self.protocol, name)

    def __setattr__(self, name, value):
        setattr(self.protocol, name, value)

    def killAfter(self, seconds):
        self.protocol.killAfter(self.FACTOR * seconds)

    def closeAfter(self, seconds):
        self.protocol.closeAfter(self.FACTOR * seconds)


# The cases get their connection here.
begin = case.Case.__init__
case.Case.__init__ = lambda self, protocol: begin(self, Patient(protocol))


def row(result):
    return {
        "case": result.case_id,
        "behavior": result.behavior.value,
        "close": result.behavior_close.value,
        "what": f"{result.result} {result.result_close} {result.received}"[:1000],
    }


async def results(server):
    try:
        return await server.get_result()
    except kosoku.FailureError as error:
        return error.results


async def main():
    cases = [argument for argument in sys.argv[1:] if not argument.startswith("-")]
    left_out = [argument[1:] for argument in sys.argv[1:] if argument.startswith("-")]
    async with kosoku.run_fuzzingserver(cases or None, left_out or None, host="127.0.0.1", port=0) as server:
        peer.say({"ca": "", "ports": {"ws": server.port}})
        reader = asyncio.StreamReader()
        await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
        while line := await reader.readline():
            if line.strip() == b"results":
                peer.say([row(result) for result in await results(server)])
            else:
                peer.say({"error": f"unknown command {line!r}"})


peer.run(main)
