/// Everything that libcurl is told about one transfer: one absolute URL and one hop.
package struct TransferOptions: Sendable {
    /// What is sent after the head.
    package enum Body: Sendable {
        case none
        /// Bytes that libcurl copies; for small bodies.
        case bytes([UInt8])
        /// Chunks that come later through ``Transfer/send(_:)``; `nil`: of unknown length.
        case stream(length: Int64?)
    }

    /// The versions a transfer may use.
    package enum Version: Hashable, Sendable {
        case http1
        case http2OverTLS
        case http2PriorKnowledge
        case http3WithFallback
        case http3Only
    }

    package var url: WireURL
    package var method: String
    /// `Name: value` lines, each with a terminating zero.
    package var headerLines: HeaderLines
    package var body = Body.none
    package var version = Version.http2OverTLS
    /// The request may be sent again by libcurl where a kept connection turned out to be dead.
    package var mayBeReplayed = false
    /// The body is decoded from gzip and the like, and such codings are asked for.
    package var decodesContent = true
    /// The limit on the head, on all informational heads and on the trailers, in bytes each.
    package var maximumHeaderBytes = 64 << 10

    package init(url: WireURL, method: String, headerLines: HeaderLines) {
        self.url = url
        self.method = method
        self.headerLines = headerLines
    }
}

/// Header lines in libcurl's form: `Name: value`, `Name;` for an empty value, `Name:` to leave out one of libcurl's own.
package struct HeaderLines: Sendable {
    package private(set) var bytes: [UInt8] = []
    package private(set) var count = 0

    package init() { bytes.reserveCapacity(256) }

    /// Adds a field. `false`, and nothing is added, where a byte would end the line early.
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

    /// Leaves out a field that libcurl would add by itself.
    package mutating func suppress(_ name: String) {
        bytes.append(contentsOf: name.utf8)
        bytes.append(UInt8(ascii: ":"))
        bytes.append(0)
        count += 1
    }
}
