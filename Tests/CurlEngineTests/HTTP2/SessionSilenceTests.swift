import Testing

@testable import CurlEngine

/// A server that says nothing, or does not take what it has to, and readers that stop.
@Suite(.enabled(if: HTTP2Session.isAvailable, "needs nghttp2"))
struct SessionSilenceTests {
    private static let piece = String(repeating: "x", count: 16 << 10)

    /// A session with some streams, whose server has sent its settings.
    private func run(streams: Int = 1, acknowledges: Bool = true) throws -> SessionRun {
        let run = try SessionRun()
        for _ in 0..<streams { try run.submit() }
        run.sent()
        run.receive(HTTP2Bytes.settings(), acknowledges ? HTTP2Bytes.frame(4, flags: 1) : [])
        run.sent()
        run.forgetEvents()
        return run
    }

    /// Moves the time of a session, and makes its check. Returns the frames that are sent then.
    private func wait(_ seconds: Int, _ run: SessionRun) -> [String] {
        run.now = run.now.advanced(by: .seconds(seconds))
        run.session?.check()
        return run.sentText()
    }

    @Test func aSilentServerIsAskedOnceAndThenLost() throws {
        let run = try run()
        #expect(wait(14, run) == [])
        #expect(wait(1, run) == ["PING 0: 1"])
        #expect(wait(9, run) == [] && run.session?.takesStreams == true)
        #expect(wait(1, run) == ["GOAWAY 0: 0"])
        let text = "http2 the server has answered nothing for 25.0 seconds, not even a PING"
        #expect(run.events == ["failed: \(text)", "broken: \(text)"])
        #expect(run.session?.takesStreams == false)
    }

    @Test func aServerThatAnswersThePingIsThere() throws {
        let run = try run()
        #expect(wait(15, run) == ["PING 0: 1"])
        run.receive(HTTP2Bytes.ping(1, acknowledges: true))
        #expect(wait(29, run) == [] && run.events == [])
        #expect(wait(1, run) == ["PING 0: 2"])
    }

    @Test func anIdleConnectionIsNotAsked() throws {
        let run = try run()
        run.receive(HTTP2Bytes.head(ends: true))
        #expect(wait(3_600, run) == [] && run.session?.deadline == nil)
    }

    @Test func settingsThatAreNeverAcknowledgedEndTheConnection() throws {
        let run = try run(acknowledges: false)
        for _ in 0..<29 {
            run.receive(HTTP2Bytes.head(1, [(":status", "103")]))
            #expect(wait(1, run) == [])
        }
        run.forgetEvents()
        #expect(wait(1, run) == ["GOAWAY 0: 4"])
        let text = "http2 the server has not acknowledged the client's SETTINGS within 30.0 seconds"
        #expect(run.events == ["failed: \(text)", "broken: \(text)"])
    }

    /// Half of the readers stop. The others get far more than the connection's window, and those that stop no more than their windows.
    @Test func readersThatStopDoNotStopTheOthers() throws {
        let count = 32, run = try run(streams: 2 * count)
        let numbers = run.streams.map { UInt32($0.number) }
        for number in numbers { run.receive(HTTP2Bytes.head(number)) }
        for stream in run.streams[..<count] { run.session?.hold(stream) }
        var granted = 0, received = 0
        func receive(_ number: UInt32) {
            run.receive(HTTP2Bytes.data(Self.piece, number))
            received += Self.piece.utf8.count
        }
        // The windows of those that stop are full.
        for number in numbers[..<count] { for _ in 0..<16 { receive(number) } }
        for _ in 0..<64 {
            for number in numbers[count...] { receive(number) }
            for frame in run.sent() where frame.kind == 8 && frame.stream == 0 {
                granted += Int(HTTP2ClientFrame.number(frame.payload))
            }
        }
        let window = Int(HTTP2Session.Settings().connectionWindow)
        #expect(run.failures.isEmpty && run.session?.activeStreams == 2 * count)
        #expect(received > 2 * window && received - granted <= window / 2)
        let held = run.streams.map { $0.receiving.heldCount }
        #expect(held[..<count].allSatisfy { $0 == 256 << 10 } && held[count...].allSatisfy { $0 == 0 })
    }

    /// A reader that stops gets its bytes, and its end, when it goes on.
    @Test func aReaderThatGoesOnGetsEverything() throws {
        let run = try run(), stream = try #require(run.streams.first)
        run.receive(HTTP2Bytes.head())
        run.session?.hold(stream)
        for index in 0..<16 { run.receive(HTTP2Bytes.data(Self.piece, ends: index == 15)) }
        run.forgetEvents()
        #expect(run.session?.activeStreams == 0)
        run.session?.release(stream)
        #expect(run.events == [String](repeating: "body \(64 << 10) bytes", count: 4) + ["end"])
    }
}
