import Testing

@testable import CurlEngine

/// The lines of libcurl's log report refused streams and broken connections.
struct LibcurlLogTests {
    private func refusal(_ lines: String...) -> StreamRefusal {
        var refusal = StreamRefusal()
        for line in lines { unsafe [UInt8](line.utf8).withUnsafeBytes { bytes in _ = unsafe refusal.read(bytes) } }
        return refusal
    }

    private func log(_ lines: String...) -> ConnectionLog {
        var log = ConnectionLog()
        for line in lines { unsafe [UInt8](line.utf8).withUnsafeBytes { bytes in _ = unsafe log.note(bytes) } }
        return log
    }

    // MARK: Refusals

    @Test(arguments: ["HTTP/2 stream 1", "HTTP/2 stream 2147483647", "HTTP/3 stream 4611686018427387900"])
    func refusedStream(_ stream: String) {
        #expect(refusal("\(stream) refused by server, try again on a new connection\n").isCertain)
    }

    /// A field of the request with the text of a refusal is not a refusal, although the log contains the fields too.
    @Test(
        arguments: [
            "[HTTP/2] [1] [x: a refused by server, try again]",
            "h2h3 [x: HTTP/2 stream 1 refused by server, try again]",
            "[HTTP/2] [1] OPENED stream for https://host/HTTP/2 stream 1 refused by server, try again",
            "HTTP/2 stream 1 was not refused by server, try again", "HTTP/2 stream refused by server, try again",
            "HTTP/2 stream ", "HTTP/2 stream 1", "",
        ])
    func fieldThatSaysThatTheStreamIsRefused(_ line: String) {
        #expect(!refusal(line).isCertain)
    }

    @Test func streamAboveTheLastOne() {
        let stream = "Using Stream ID: 3 (easy handle 0x7)"
        #expect(refusal(stream, "recveived GOAWAY, error=0, last_stream=1").isBeyondLastStream)
        #expect(refusal(stream, "received GOAWAY, error=0, last_stream=1").isBeyondLastStream)
        #expect(!refusal(stream, "recveived GOAWAY, error=0, last_stream=3").isBeyondLastStream)
        #expect(!refusal(stream, "h2h3 [x: received GOAWAY, error=0, last_stream=1]").isBeyondLastStream)
        #expect(!refusal("h2h3 [x: Using Stream ID: 3]", "received GOAWAY, error=0, last_stream=1").isBeyondLastStream)
    }

    // MARK: Ends

    @Test func connectionThatIsClosedWithoutGoAwayIsBroken() {
        #expect(log("Closing connection 0").isBroken)
        #expect(!log("Connection #0 to host example.com left intact").isBroken)
        #expect(!log("Connection cache is full, closing the oldest one", "Closing connection 0").isBroken)
        #expect(!log().isBroken)
    }

    /// A kept connection to a host with a long name is recognised, although libcurl cuts the line to 255 bytes.
    @Test func keptConnectionToAHostWithALongName() {
        let host = Array(repeating: String(repeating: "a", count: 61), count: 4).joined(separator: ".")
        #expect(!log(String("Connection #12345 to host \(host) left intact".prefix(255)) + "\n").isBroken)
        #expect(log("Connection #5 is still name resolving, can't reuse", "Closing connection 0").isBroken)
    }

    /// A connection that is closed after a GOAWAY is broken if libcurl has written something in between: libcurl replies to a violation,
    /// but not to an end.
    @Test(arguments: [(0, 100, 100, false), (0, 100, 134, true), (2, 100, 100, false), (2, 100, 134, true)])
    func connectionThatIsClosedAfterGoAway(_ code: Int, _ before: Int64, _ after: Int64, _ isBroken: Bool) {
        var log = log("recveived GOAWAY, error=\(code), last_stream=1\n")
        log.goOn(written: before)
        log.close(written: after)
        #expect(log.isBroken == isBroken)
    }

    @Test func connectionOfWhichNothingElseIsKnownThanItsGoAway() {
        #expect(!log("recveived GOAWAY, error=0, last_stream=1").isBroken)
        #expect(log("recveived GOAWAY, error=2, last_stream=1").isBroken)
    }
}
