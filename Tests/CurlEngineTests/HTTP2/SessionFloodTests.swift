import Testing

@testable import CurlEngine

/// Frames that nghttp2 ignores without a word count like all others.
@Suite(.enabled(if: HTTP2Session.isAvailable, "needs nghttp2"))
struct SessionFloodTests {
    private func run() throws -> SessionRun {
        let run = try SessionRun()
        try run.submit()
        run.sent()
        run.receive(HTTP2Bytes.settings(), HTTP2Bytes.frame(4, flags: HTTP2Bytes.acknowledgement))
        return run
    }

    private func frames(_ count: Int, of frame: [UInt8]) -> [UInt8] { (0..<count).flatMap { _ in frame } }

    @Test(arguments: [1, 5, 13, .max]) func unknownFrames(_ piece: Int) throws {
        let run = try run(), one = HTTP2Bytes.frame(0x99, stream: 1, [1, 2, 3])
        run.receive(frames(256, of: one), piece: piece)
        #expect(run.failures.isEmpty)
        run.receive(one, piece: piece)
        #expect(run.failures.first?.message == "the server sends too many frames without a purpose")
        #expect(run.sentText().contains { $0.hasPrefix("GOAWAY") })
    }

    /// Content on a cancelled stream is allowed up to the window that the server has.
    @Test(arguments: [10_000, .max]) func contentOnACancelledStream(_ piece: Int) throws {
        let run = try run(), one = HTTP2Bytes.frame(0, stream: 1, [UInt8](repeating: 0, count: 16 << 10))
        run.receive(HTTP2Bytes.head())
        try run.session?.cancel(#require(run.streams.first))
        run.sent()
        run.receive(frames(16, of: one), piece: piece)
        #expect(run.failures.isEmpty)
        #expect(run.session?.takesStreams == true)
        run.receive(HTTP2Bytes.data("x"))
        #expect(run.session?.takesStreams == false)
        #expect(run.sentText().contains { $0.hasPrefix("GOAWAY") })
    }
}
