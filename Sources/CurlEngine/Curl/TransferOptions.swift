/// The settings of one transfer in libcurl: one absolute URL and one hop.
package final class TransferOptions: Sendable {
    /// The body of the request, which is sent after the head.
    package enum Body: Sendable {
        case none
        /// Bytes that libcurl copies; meant for small bodies.
        case bytes([UInt8])
        /// Chunks that come later through ``Transfer/send(_:)``; a length of `nil` means that the length is unknown.
        case stream(length: Int64?)
    }

    /// The HTTP versions that a transfer may use.
    package enum Version: Hashable, Sendable {
        case http1
        case http2OverTLS
        case http2PriorKnowledge
        case http3WithFallback
        case http3Only
    }

    package let url: WireURL
    package let method: String
    /// The header lines of the request; `nil` selects the engine's default lines.
    package let headerLines: HeaderLines?
    package let body: Body
    package let version: Version
    /// Indicates whether libcurl may send the request again where a reused connection turned out to be dead.
    package let mayBeReplayed: Bool
    /// Indicates whether the body is decoded from content codings such as gzip, for which the header lines ask.
    package let decodesContent: Bool
    /// The size of libcurl's receive buffer in bytes, which is also the most that libcurl reads at once.
    package let receiveBufferSize: Int
    /// The largest part of the body that libcurl is given at once, in bytes.
    package let sendPieceSize: Int
    /// The limit in bytes on all heads of a response together, and on the trailers.
    package let maximumHeaderBytes: Int

    package init(
        url: WireURL, method: String, headerLines: HeaderLines? = nil, body: Body = .none,
        version: Version = .http2OverTLS,
        mayBeReplayed: Bool = false, decodesContent: Bool = true, receiveBufferSize: Int = 16 << 10,
        sendPieceSize: Int = .max, maximumHeaderBytes: Int = 64 << 10
    ) {
        self.url = url
        self.method = method
        self.headerLines = headerLines
        self.body = body
        self.version = version
        self.mayBeReplayed = mayBeReplayed
        self.decodesContent = decodesContent
        self.receiveBufferSize = receiveBufferSize
        self.sendPieceSize = sendPieceSize
        self.maximumHeaderBytes = maximumHeaderBytes
    }

    /// The same options without the header line `Expect: 100-continue`.
    package var withoutExpectation: TransferOptions {
        TransferOptions(
            url: url, method: method, headerLines: headerLines?.without("Expect: 100-continue"), body: body,
            version: version, mayBeReplayed: mayBeReplayed, decodesContent: decodesContent,
            receiveBufferSize: receiveBufferSize, sendPieceSize: sendPieceSize, maximumHeaderBytes: maximumHeaderBytes)
    }

    /// Indicates whether the transfer uses HTTP/2 or HTTP/3 from the first byte on.
    var isCertainlyHTTP2: Bool { version == .http2PriorKnowledge || version == .http3Only }

    /// Indicates whether the transfer can turn out to use HTTP/2 or HTTP/3.
    var mayBeHTTP2: Bool {
        switch version {
        case .http1: false
        case .http2OverTLS, .http3WithFallback: url.scheme == "https"
        case .http2PriorKnowledge, .http3Only: true
        }
    }
}

/// Header lines in libcurl's form: `Name: value`, `Name;` for an empty value, `Name:` to leave out a line of libcurl's own.
package struct HeaderLines: Hashable, Sendable {
    /// The lines, each with a zero byte at its end.
    package private(set) var bytes: [UInt8] = []
    /// The number of lines.
    package private(set) var count = 0

    package init() { bytes.reserveCapacity(256) }

    /// Adds a field. Returns `false`, and adds nothing, where a byte would end the line early (NUL, LF or CR).
    package mutating func append(name: String, value: some Sequence<UInt8>) -> Bool {
        let start = bytes.count
        bytes.append(contentsOf: name.utf8)
        bytes.append(UInt8(ascii: ":"))
        bytes.append(UInt8(ascii: " "))
        let valueStart = bytes.count
        bytes.append(contentsOf: value)
        if bytes.count == valueStart {
            bytes.removeLast(2)
            bytes.append(UInt8(ascii: ";"))
        }
        for index in start..<bytes.count where bytes[index] == 0 || bytes[index] == 10 || bytes[index] == 13 {
            bytes.removeSubrange(start...)
            return false
        }
        bytes.append(0)
        count += 1
        return true
    }

    /// Returns the lines that differ from `line`.
    func without(_ line: String) -> HeaderLines {
        var lines = HeaderLines()
        for present in bytes.split(separator: 0) where !present.elementsEqual(line.utf8) {
            lines.bytes += present
            lines.bytes.append(0)
            lines.count += 1
        }
        return lines
    }

    /// Leaves out a field that libcurl would add by itself.
    package mutating func suppress(_ name: String) {
        bytes.append(contentsOf: name.utf8)
        bytes.append(UInt8(ascii: ":"))
        bytes.append(0)
        count += 1
    }
}
