import CurlEngine

/// The frames that a client has sent, without those whose time is chance: acknowledgements, windows and PING.
///
/// The frames of a stream are one line, and the pieces of a body are one. Ports and the names and versions of programs are left out.
package final class HTTP2Transcript: Sendable {
    private struct Key: Hashable {
        let connection: Int
        let stream: UInt32
    }

    private struct Line {
        var parts: [String] = []
        /// The number of bytes of the body; `nil` if no DATA frame has come after the last part.
        var data: Int?

        mutating func endData() {
            if let data, data > 0 { parts.append("DATA \(data)") }
            data = nil
        }

        var text: String {
            var copy = self
            copy.endData()
            return copy.parts.joined(separator: ", ")
        }
    }

    private let lines = Locked<[Key: Line]>([:])

    package init() {}

    /// The lines of all connections in their order: those of a connection first, and then those of its streams.
    package var text: [String] {
        let lines = lines.withLock { $0 }
        let keys = lines.keys.sorted { ($0.connection, $0.stream) < ($1.connection, $1.stream) }
        return keys.map { "\($0.connection)/\($0.stream): \(lines[$0]?.text ?? "")" }
    }

    func add(_ part: String, _ stream: UInt32, on connection: Int) {
        change(stream, connection) { line in
            line.endData()
            line.parts.append(part)
        }
    }

    func addData(_ count: Int, isEnd: Bool, _ stream: UInt32, on connection: Int) {
        change(stream, connection) { line in
            line.data = (line.data ?? 0) + count
            guard isEnd else { return }
            line.endData()
            line.parts.append("end")
        }
    }

    func add(_ fields: [HPACKDecoder.Field], isEnd: Bool, _ stream: UInt32, on connection: Int) {
        var words: [String] = []
        for field in fields {
            switch field.name {
            case ":method", ":path": words.append(field.value)
            case ":scheme": continue
            case ":authority", "user-agent", "accept-encoding": words.append(field.name)
            default: words.append("\(field.name)=\(field.value)")
            }
        }
        add("HEADERS " + words.joined(separator: " ") + (isEnd ? ", end" : ""), stream, on: connection)
    }

    private func change(_ stream: UInt32, _ connection: Int, _ change: (inout Line) -> Void) {
        lines.withLock { change(&$0[Key(connection: connection, stream: stream), default: Line()]) }
    }
}
