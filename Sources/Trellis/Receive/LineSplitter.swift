/// Splits bytes into lines, however they are cut into chunks. A pure machine: bytes in, lines out.
struct LineSplitter {
    private static let lineFeed = UInt8(ascii: "\n")
    private static let carriageReturn = UInt8(ascii: "\r")

    private let limit: Int
    private var chunk: [UInt8] = []
    private var position = 0
    /// The beginning of a line whose end has not come yet.
    private var pending: [UInt8] = []
    /// The last line ended with a carriage return, so that a line feed at the start belongs to it.
    private var mustSkipLineFeed = false

    init(limit: Int) { self.limit = limit }

    /// Adds the next bytes. Call it when ``next()`` has returned `nil`.
    mutating func append(_ bytes: [UInt8]) {
        chunk = bytes
        position = 0
    }

    /// The next line that is complete, `nil` where more bytes are needed.
    mutating func next() throws -> String? {
        if mustSkipLineFeed, position < chunk.count {
            if chunk[position] == Self.lineFeed { position += 1 }
            mustSkipLineFeed = false
        }
        let rest = chunk[position...]
        guard let end = rest.firstIndex(where: { $0 == Self.lineFeed || $0 == Self.carriageReturn }) else {
            pending.append(contentsOf: rest)
            position = chunk.count
            try check(pending.count)
            return nil
        }
        try check(pending.count + end - position)
        defer {
            position = end + 1
            mustSkipLineFeed = chunk[end] == Self.carriageReturn
        }
        guard !pending.isEmpty else { return String(decoding: chunk[position..<end], as: UTF8.self) }
        pending.append(contentsOf: chunk[position..<end])
        defer { pending.removeAll(keepingCapacity: true) }
        return String(decoding: pending, as: UTF8.self)
    }

    /// The line at the end of the body, if it has no end of its own.
    mutating func finish() -> String? {
        guard !pending.isEmpty else { return nil }
        defer { pending = [] }
        return String(decoding: pending, as: UTF8.self)
    }

    private func check(_ length: Int) throws {
        guard length <= limit else {
            throw TrellisError(.invalidResponse(.bodyTooLarge(limit: limit)), phase: .receiving)
        }
    }
}
