import FoundationEssentials

/// The outgoing side of a connection: the writer of its frames, and the answers to pings that wait for room.
struct WebSocketOutbox {
    /// Messages of this size in bytes, and larger ones, are compressed.
    let threshold: Int
    var writer: WebSocketFrameWriter
    /// The answers that wait while an earlier one waits for room; `nil` if no answer is being sent.
    var waitingAnswers: WebSocketAnswers?

    init(_ options: WebSocketOptions, compression: WebSocketDeflate?) {
        threshold = options.compression?.threshold ?? .max
        writer = WebSocketFrameWriter(compression: compression)
    }
}

/// The payloads of pings that are to be answered: the first ones and the last one (RFC 6455, section 5.5.3). A server that sends pings and
/// reads nothing takes no memory.
struct WebSocketAnswers {
    /// The limit on the pings of one turn that are answered, and on the answers that wait for room.
    static let limit = 16

    private(set) var payloads: [Data] = []

    /// Adds a ping. When there are many, the last of them gives way to it.
    mutating func add(_ payload: Data) {
        if payloads.count == Self.limit { payloads.removeLast() }
        payloads.append(payload)
    }

    /// Takes the first payload; `nil` if there is none.
    mutating func popFirst() -> Data? { payloads.isEmpty ? nil : payloads.removeFirst() }

    /// Takes all payloads.
    mutating func takeAll() -> [Data] {
        defer { payloads = [] }
        return payloads
    }
}
