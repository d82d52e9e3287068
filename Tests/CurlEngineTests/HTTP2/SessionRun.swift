import Testing

@testable import CurlEngine

/// A session of HTTP/2 without a socket, whose events are recorded as words.
final class SessionRun: HTTP2SessionDelegate {
    private(set) var session: HTTP2Session?
    var now = EngineInstant(nanoseconds: 1_000_000_000)
    private(set) var events: [String] = []
    private(set) var failures: [EngineFailure] = []
    private(set) var streams: [HTTP2Stream] = []
    /// The parts of the body that are delivered next; `nil` is a pause.
    var parts: [HTTP2BodyPart?] = []
    /// What happens when a piece of a body has arrived.
    var didReceiveBody: (HTTP2Stream) -> Void = { _ in }

    init(_ settings: HTTP2Session.Settings = .init(), defaults: [String] = []) throws {
        session = HTTP2Session(settings, defaults: HeaderLines(lines: defaults), delegate: self)
        try #require(session != nil || !HTTP2Session.isAvailable)
    }

    // MARK: The connection

    /// Passes bytes of the server to the session, in pieces of a size.
    func receive(_ bytes: [UInt8]..., piece: Int = .max) {
        let bytes = Array(bytes.joined())
        var start = 0
        while start < bytes.count {
            let end = start + min(piece, bytes.count - start)
            do throws(EngineFailure) {
                try session?.receive(unsafe bytes.span.extracting(start..<end).bytes)
            } catch {
                if failures.isEmpty || events.last?.hasPrefix("broken") != true { record("broken", error) }
                return
            }
            start = end
        }
    }

    /// Returns the frames that are sent now.
    @discardableResult
    func sent(room: Int = 256 << 10) -> [HTTP2ClientFrame] {
        var bytes: [UInt8] = []
        while let session, session.wantsWrite {
            let part = unsafe [UInt8](unsafeUninitializedCapacity: room) { buffer, count in
                count = unsafe session.fill(UnsafeMutableRawBufferPointer(buffer))
            }
            if part.isEmpty { break }
            bytes += part
        }
        return HTTP2ClientFrame.all(in: bytes)
    }

    /// Returns the frames that are sent now, in words.
    func sentText(room: Int = 256 << 10) -> [String] { sent(room: room).map(\.text) }

    /// Begins a request.
    @discardableResult
    func submit(
        _ method: String = "GET", url: String = "https://a.example/", lines: [String]? = nil,
        body: TransferOptions.Body = .none, limit: Int = 64 << 10, hasTrailers: Bool = false, holdsBody: Bool = false,
        switchesProtocols: Bool = false
    ) throws -> HTTP2Stream {
        let options = TransferOptions(
            url: try WireURL(parsing: url), method: method, headerLines: lines.map { HeaderLines(lines: $0) },
            body: body, version: switchesProtocols ? .http2Only : .http2OverTLS,
            maximumHeaderBytes: limit, hasTrailers: hasTrailers, switchesProtocols: switchesProtocols)
        let stream = try #require(session).submit(options, holdsBody: holdsBody)
        streams.append(stream)
        return stream
    }

    /// Forgets the events up to now.
    func forgetEvents() { events = [] }

    // MARK: The events

    private func record(_ text: String) { events.append(text) }

    private func record(_ what: String, _ failure: EngineFailure) {
        failures.append(failure)
        let words = failure.message.isEmpty ? "" : " \(failure.message)"
        record("\(what): \(failure.kind)\(words)\(failure.isUnprocessed ? ", unprocessed" : "")")
    }

    /// The name of a stream in the events: none for the first one.
    private func name(_ stream: HTTP2Stream) -> String { stream.number == 1 ? "" : " \(stream.number)" }

    private func text(_ fields: WireFields) -> String {
        fields.count == 0 ? "" : " " + String(decoding: fields.bytes, as: UTF8.self)
    }

    func stream(_ stream: HTTP2Stream, didReceiveInformational head: WireHead) {
        record("informational\(name(stream)) \(head.status)\(text(head.fields))")
    }

    func stream(_ stream: HTTP2Stream, didReceiveHead head: consuming WireHead) {
        record("head\(name(stream)) \(head.status)\(text(head.fields))")
    }

    func stream(_ stream: HTTP2Stream, didReceiveBody bytes: RawSpan) {
        let bytes = unsafe bytes.withUnsafeBytes { unsafe Array($0) }
        let piece = bytes.count > 64 ? "\(bytes.count) bytes" : String(decoding: bytes, as: UTF8.self)
        // Pieces of a body are one, so that the events do not depend on how its bytes arrive.
        let start = "body\(name(stream)) "
        if let last = events.last, last.hasPrefix(start), bytes.count <= 64 {
            events[events.count - 1] = last + piece
        } else {
            record(start + piece)
        }
        didReceiveBody(stream)
    }

    func streamDidEnd(_ stream: HTTP2Stream, trailers: WireFields) { record("end\(name(stream))\(text(trailers))") }

    func streamDidFail(_ stream: HTTP2Stream, _ failure: EngineFailure) { record("failed\(name(stream))", failure) }

    func fillBody(of stream: HTTP2Stream, into room: UnsafeMutableRawBufferPointer) -> HTTP2BodyPart {
        guard !parts.isEmpty, let part = parts.removeFirst() else { return HTTP2BodyPart(count: 0) }
        let count = min(part.count, room.count)
        for index in 0..<count { unsafe room[index] = UInt8(ascii: "x") }
        guard count < part.count else { return part }
        parts.insert(HTTP2BodyPart(count: part.count - count, isEnd: part.isEnd, trailers: part.trailers), at: 0)
        return HTTP2BodyPart(count: count)
    }

    func streamDidSendHead(_ stream: HTTP2Stream) { record("sent head\(name(stream))") }
    func streamDidSendBody(_ stream: HTTP2Stream) {}
    func sessionDidChangeCapacity() { record("capacity \(session?.capacity ?? 0)") }
    func sessionDidReceive(_ goAway: HTTP2GoAway) {
        record("goaway \(goAway.lastStream) \(goAway.code.name) \(goAway.text)")
    }
    func sessionDidFail(_ failure: EngineFailure) { record("broken", failure) }
}
