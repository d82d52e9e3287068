import HTTPTypes
import NIOCore

/// The encoder of one response to an HTTP/1 client, with the framing of its body (RFC 9112, section 6).
struct ResponseEncoder {
    private enum Body {
        /// The head has not been written.
        case pending
        /// The response has no body.
        case none
        /// So many bytes follow.
        case bytes(Int64)
        case chunked
        /// The body ends with the connection.
        case untilClose
    }

    /// The failure of a body that has more or fewer bytes than the head has said.
    struct WrongLength: Error {}

    private var body = Body.pending
    private let isHTTP1_0: Bool
    private let isHead: Bool
    /// Whether the client waits for a 100. It gets one: the origin's or the gateway's.
    private let expectsContinue: Bool
    /// Whether a 100 was written.
    private var hasContinued = false
    /// The number of probes since the last part of the response.
    private var probes = 0
    /// Whether the connection ends after the response.
    private(set) var mustClose: Bool

    /// Creates the encoder of the response to a request; `nil` for a request that could not be read.
    init(_ request: RequestHead?) {
        isHTTP1_0 = request?.isHTTP1_0 ?? false
        isHead = request?.method == .head
        expectsContinue = request?.expectsContinue ?? false
        mustClose = !(request?.isPersistent ?? false)
    }

    /// Whether the head was written.
    var hasHead: Bool { if case .pending = body { false } else { true } }

    /// Whether the end of the connection looks like the end of the body.
    var endsWithConnection: Bool { if case .untilClose = body { true } else { false } }

    /// Writes an informational head, unless the client does not know such heads (RFC 9110, section 15.2), or has its response already.
    mutating func writeInformational(_ response: HTTPResponse, to buffer: inout ByteBuffer) {
        guard !isHTTP1_0, !hasHead else { return }
        if response.status == .continue {
            guard !expectsContinue || !hasContinued else { return }
            hasContinued = true
        }
        write(response, to: &buffer)
        buffer.writeStaticString("\r\n")
    }

    /// Writes the head.
    ///
    /// - Parameter closing: Whether the connection ends after the response in any case.
    mutating func writeHead(_ response: HTTPResponse, closing: Bool, to buffer: inout ByteBuffer) {
        mustClose = mustClose || closing
        let code = response.status.code
        var response = response
        // Only a body in chunks has trailers. The length of a response over HTTP/2 does not exclude them.
        let mayHaveTrailers = !isHTTP1_0 && response.headerFields.contains(.trailer)
        let length = mayHaveTrailers ? nil : response.headerFields[.contentLength].flatMap { Int64($0) }
        if isHead || code == 204 || code == 304 {
            body = .none
        } else if let length {
            body = .bytes(length)
        } else if isHTTP1_0 {
            body = .untilClose
        } else {
            body = .chunked
            response.headerFields[.contentLength] = nil
        }
        probes = 0
        write(response, to: &buffer)
        if case .chunked = body { buffer.writeStaticString("Transfer-Encoding: chunked\r\n") }
        if mustClose { buffer.writeStaticString("Connection: close\r\n") }
        buffer.writeStaticString("\r\n")
    }

    /// Writes bytes of the body.
    mutating func writeBody(_ bytes: some Collection<UInt8>, to buffer: inout ByteBuffer) throws(WrongLength) {
        guard !bytes.isEmpty else { return }
        switch body {
        case .pending: throw WrongLength()
        case .none: return
        case .untilClose: buffer.writeBytes(bytes)
        case .chunked:
            buffer.writeString(String(bytes.count, radix: 16) + "\r\n")
            buffer.writeBytes(bytes)
            buffer.writeStaticString("\r\n")
            probes = 0
        case .bytes(let count):
            guard bytes.count <= count else { throw WrongLength() }
            buffer.writeBytes(bytes)
            body = .bytes(count - Int64(bytes.count))
        }
    }

    /// Writes the end of the body. Only a chunked body has trailers.
    func writeEnd(_ trailers: HTTPFields, to buffer: inout ByteBuffer) throws(WrongLength) {
        switch body {
        case .pending: throw WrongLength()
        case .none, .untilClose: break
        case .bytes(let count): guard count == 0 else { throw WrongLength() }
        case .chunked:
            buffer.writeStaticString("0\r\n")
            write(trailers, to: &buffer)
            buffer.writeStaticString("\r\n")
        }
    }

    /// Writes bytes that mean nothing to the client, if there are any at this point of the response, and if not too many were written: a
    /// 100 that was not asked for before the head (RFC 9110, section 15.2.1), and a leading zero of a chunk's size in a body of chunks (RFC
    /// 9112, section 7.1).
    mutating func writeProbe(to buffer: inout ByteBuffer) {
        // Some clients accept five informational heads, and sixteen digits of a size.
        guard probes < 4 else { return }
        switch body {
        case .pending where !isHTTP1_0: buffer.writeStaticString("HTTP/1.1 100 Continue\r\n\r\n")
        case .chunked: buffer.writeStaticString("0")
        case .pending, .none, .bytes, .untilClose: return
        }
        probes += 1
    }

    private func write(_ response: HTTPResponse, to buffer: inout ByteBuffer) {
        buffer.writeString("HTTP/1.1 \(response.status.code) \(response.status.reasonPhrase)\r\n")
        write(response.headerFields, to: &buffer)
    }

    /// Writes fields with the bytes that were received, which need not be UTF-8.
    private func write(_ fields: HTTPFields, to buffer: inout ByteBuffer) {
        for field in fields {
            buffer.writeString(field.name.rawName)
            buffer.writeStaticString(": ")
            field.withUnsafeBytesOfValue { _ = buffer.writeBytes($0) }
            buffer.writeStaticString("\r\n")
        }
    }
}
