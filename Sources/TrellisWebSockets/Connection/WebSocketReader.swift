import FoundationEssentials
import TrellisCore

/// The incoming side of a connection: bytes become events. Fed with one chunk after the other, which may be cut anywhere.
struct WebSocketReader: ~Copyable {
    private var parser: WebSocketFrameParser
    private var assembler: WebSocketAssembler
    /// The bytes that were fed last.
    private var chunk = Data()
    private var position = 0
    /// Whether a Close frame was received, after which no bytes mean anything (RFC 6455, section 5.5.1).
    private(set) var isClosed = false

    init(maximumFrameSize: Int, maximumMessageSize: Int, compression: WebSocketDeflate?) {
        parser = WebSocketFrameParser(allowsCompression: compression != nil, limit: maximumFrameSize)
        assembler = WebSocketAssembler(limit: maximumMessageSize, compression: compression)
    }

    /// Adds bytes, once all earlier ones are used: ``next()`` has returned `nil`.
    mutating func feed(_ bytes: Data) {
        chunk = bytes
        position = 0
    }

    /// Returns the next event; `nil` if more bytes are needed, or after a Close frame. After an error, the reader must not be used again.
    ///
    /// - Parameter frames: The number of frames that may begin, which is reduced by those that begin. At zero, the result is `nil`, and the
    ///   other bytes are read by a later call.
    mutating func next(_ frames: inout Int) throws(WebSocketViolation) -> WebSocketEvent? {
        guard !isClosed else { return nil }
        let chunk = chunk
        let span = chunk.span
        while frames > 0 || !parser.isBetweenFrames {
            guard let part = try parser.next(in: span, from: &position) else {
                self.chunk = Data()
                return nil
            }
            switch part {
            case .head(let head):
                frames -= 1
                try assembler.begin(head)
            case .payload(let range, let isEnd):
                guard let event = try assembler.add(span.extracting(range), isEnd: isEnd) else { continue }
                if case .close = event { isClosed = true }
                return event
            }
        }
        return nil
    }
}
