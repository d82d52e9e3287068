import HTTPTypes
import TrellisCore

/// The part of a response's faults that depends on its bytes, for a transport without a wire.
struct FaultedResponse: Sendable {
    /// The division of the body.
    var body: FaultedBody
    /// Whether the response has a body (RFC 9112, section 6.3).
    private(set) var hasBody = false
    /// The end of the last pause of a drip, on the clock.
    var lastPause: Duration?
    /// The number of bytes by which the length of the body is wrong, and the bytes at the end that the client never gets.
    private let excess: Int
    private let missing: Int
    private var tail: [UInt8] = []

    init(_ faults: [Fault]) {
        body = FaultedBody(faults)
        var (excess, missing) = (0, 0)
        for case .framing(let framing) in faults {
            switch framing {
            case .lengthTooLarge(let count): excess += max(0, count)
            case .lengthTooSmall(let count): missing += max(0, count)
            case .statusLine, .fieldLine, .contentLengths, .chunkSize: break
            }
        }
        (self.excess, self.missing) = (excess, missing)
    }

    /// Returns the head as the client receives it, with the wrong length.
    mutating func begin(_ head: ResponseHead, of request: TransportRequest) -> ResponseHead {
        hasBody = request.allowsBody(of: head)
        guard hasBody, excess != missing, let length = head.headers[.contentLength].flatMap({ Int($0) }) else {
            return head
        }
        var headers = head.headers
        headers[.contentLength] = "\(max(0, length + excess - missing))"
        return ResponseHead(status: head.status, headers: headers, version: head.version)
    }

    /// Returns the next step in the sending of the body. Bytes after a head that has no body are passed on without faults.
    mutating func step(available: Int) -> FaultedBody.Step {
        hasBody ? body.step(available: available) : .send(available)
    }

    /// Returns the bytes that the client receives now.
    mutating func take(_ bytes: [UInt8]) -> [UInt8] {
        guard hasBody, missing > 0 else { return bytes }
        tail += bytes
        guard tail.count > missing else { return [] }
        defer { tail = Array(tail.suffix(missing)) }
        return Array(tail.dropLast(missing))
    }
}
