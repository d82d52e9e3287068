@testable import CurlEngine

/// A response as the decoder reads it from pieces of bytes, and at the end of the connection.
struct DecodedResponse: Hashable {
    /// The heads, the body, the trailers and the end, as text. Consecutive bytes of the body are one entry.
    private(set) var events: [String] = []
    /// The kind of the failure, if any.
    private(set) var failure: EngineFailure.Kind?
    /// The message of the failure.
    private(set) var message = ""
    /// Whether the connection could serve another request after the response.
    private(set) var isReusable = false
    /// The bytes after a switch of protocols, or after the response.
    private(set) var rest = ""
    private var body: [UInt8] = []

    /// Reads pieces, after which the connection ends if the response has not.
    init(_ pieces: [ArraySlice<UInt8>], _ traits: HTTP1RequestTraits = [], limit: Int = 1 << 20) {
        var decoder = HTTP1ResponseDecoder(traits, limit: limit)
        do throws(EngineFailure) {
            for piece in pieces { try read(Array(piece), &decoder) }
            isReusable = decoder.isReusable
            if !decoder.hasEnded, !decoder.hasSwitched {
                add(try decoder.connectionEnded(), [])
                isReusable = decoder.isReusable
            }
        } catch {
            flush()
            (failure, message) = (error.kind, error.message)
        }
    }

    /// Reads a text in one piece.
    init(_ text: String, _ traits: HTTP1RequestTraits = [], limit: Int = 1 << 20) {
        self.init([Array(text.utf8)[...]], traits, limit: limit)
    }

    private mutating func read(_ piece: [UInt8], _ decoder: inout HTTP1ResponseDecoder) throws(EngineFailure) {
        var position = 0
        while !decoder.hasEnded, !decoder.hasSwitched {
            let event = unsafe try decoder.next(in: piece.span.bytes, at: &position)
            if case .more = event { return }
            add(event, piece)
        }
        rest += String(decoding: piece[position...], as: UTF8.self)
        // The decoder is told of bytes after the response.
        _ = unsafe try decoder.next(in: piece.span.bytes, at: &position)
    }

    private mutating func add(_ event: HTTP1ResponseDecoder.Event, _ piece: [UInt8]) {
        if case .body(let range) = event {
            body += piece[range]
            return
        }
        flush()
        switch event {
        case .more, .body: break
        case .informational(let head), .head(let head): events.append(Self.text(head))
        case .switched(let head): events.append("switched: " + Self.text(head))
        case .end(let trailers): events.append((["end"] + ParsedLines.text(trailers)).joined(separator: "|"))
        }
    }

    private mutating func flush() {
        if !body.isEmpty { events.append("“\(String(decoding: body, as: UTF8.self))”") }
        body = []
    }

    private static func text(_ head: WireHead) -> String {
        let version = head.version == .http1_0 ? "1.0 " : ""
        return (["\(version)\(head.status) \(head.reason)"] + ParsedLines.text(head.fields)).joined(separator: "|")
    }
}
