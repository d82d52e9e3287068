@testable import CurlEngine

/// Checks that each stream of an HTTP/2 connection has one end, however the bytes of its server are cut, and that no bytes are made up.
func fuzzFrames(_ input: FuzzInput) {
    for pieces in input.cuts {
        guard let run = FramesRun(input.choice) else { return }
        run.receive(pieces)
        for (ends, stream) in zip(run.ends, run.streams) {
            expect(ends == 1, "stream \(stream.number) has \(ends) ends")
            expect(!stream.isActive, "stream \(stream.number) goes on after its end")
        }
        expect(run.bodyCount <= input.body.count, "bytes that were not sent")
        expect(run.session?.activeStreams == 0, "streams are left")
    }
}

/// A connection with some requests, whose readers may stop.
private final class FramesRun: HTTP2SessionDelegate {
    private(set) var session: HTTP2Session?
    private(set) var streams: [HTTP2Stream] = []
    private(set) var ends: [Int] = []
    private(set) var bodyCount = 0
    private var filledCount = 0
    let now = EngineInstant(nanoseconds: 1_000_000_000)
    private let choice: UInt8

    /// Creates the connection; `nil` if nghttp2 is not available.
    ///
    /// - Parameter choice: Selects the number of requests, those that have bodies, and the readers that stop.
    init?(_ choice: UInt8) {
        self.choice = choice
        session = HTTP2Session(HTTP2Session.Settings(), defaults: HeaderLines(), delegate: self)
        guard session != nil, let url = try? WireURL(parsing: "https://a.example/") else { return nil }
        for number in 0...Int(choice & 3) {
            let hasBody = choice >> number & 4 != 0
            let options = TransferOptions(
                url: url, method: hasBody ? "POST" : "GET", body: hasBody ? .stream(length: nil) : .none,
                maximumHeaderBytes: 256)
            guard let stream = try? session?.submit(options) else { return nil }
            streams.append(stream)
            ends.append(0)
        }
        send()
    }

    /// Passes the bytes of the server to the connection, which then ends.
    func receive(_ pieces: [[UInt8]]) {
        for piece in pieces where session?.failure == nil {
            try? session?.receive(piece.span.bytes)
            send()
            if choice & 0x80 != 0 { for stream in streams { session?.release(stream) } }
        }
        session?.connectionEnded(EngineFailure(kind: .receive, message: ""))
        // A reader that goes on once more may stop again.
        for stream in streams { while stream.isActive { session?.release(stream) } }
    }

    private func send() {
        var room = [UInt8](repeating: 0, count: HTTP2Session.smallestRoom)
        while let session, session.wantsWrite {
            guard room.withUnsafeMutableBytes({ session.fill($0) }) > 0 else { return }
        }
    }

    private func end(_ stream: HTTP2Stream) {
        if let index = streams.firstIndex(where: { $0 === stream }) { ends[index] += 1 }
    }

    // MARK: The events

    func stream(_ stream: HTTP2Stream, didReceiveInformational head: WireHead) {}
    func stream(_ stream: HTTP2Stream, didReceiveHead head: consuming WireHead) {
        if choice & 0x40 != 0 { session?.hold(stream) }
    }
    func stream(_ stream: HTTP2Stream, didReceiveBody bytes: RawSpan) {
        bodyCount += bytes.byteCount
        if choice & 0x20 != 0 { session?.hold(stream) }
        if choice & 0x10 != 0, bodyCount > 100 { cancel(stream) }
    }
    func streamDidEnd(_ stream: HTTP2Stream, trailers: WireFields) { end(stream) }
    func streamDidFail(_ stream: HTTP2Stream, _ failure: EngineFailure) { end(stream) }
    func fillBody(of stream: HTTP2Stream, into room: UnsafeMutableRawBufferPointer) -> HTTP2BodyPart {
        guard !room.isEmpty, choice & 0x08 != 0 else { return HTTP2BodyPart(count: 0) }
        room[0] = choice
        filledCount += 1
        return HTTP2BodyPart(count: 1, isEnd: filledCount % 4 == 0)
    }
    func streamDidSendHead(_ stream: HTTP2Stream) {}
    func streamDidSendBody(_ stream: HTTP2Stream) {}
    func sessionDidChangeCapacity() {}
    func sessionDidReceive(_ goAway: HTTP2GoAway) {}
    func sessionDidFail(_ failure: EngineFailure) {}

    /// Cancels a stream, which has no further event.
    private func cancel(_ stream: HTTP2Stream) {
        session?.cancel(stream)
        end(stream)
    }
}
