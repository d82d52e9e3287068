import CCurl

/// A content coding (RFC 9110, section 8.4.1) that zlib, brotli or zstd implements.
package enum ContentCoding: String, Sendable, Hashable, CaseIterable {
    /// The gzip format (RFC 1952).
    case gzip
    /// A zlib stream (RFC 1950).
    case deflate
    /// The Brotli format (RFC 7932).
    case brotli = "br"
    /// The Zstandard format (RFC 8878), with the limits of RFC 9659.
    case zstd

    /// Creates the coding with a name from `Content-Encoding`, which is case-insensitive; `x-gzip` means gzip. `nil` if the name is
    /// unknown.
    package init?(name: some StringProtocol) {
        let name = name.lowercasedASCII()
        self.init(rawValue: name == "x-gzip" ? "gzip" : name)
    }

    /// Whether the library that decodes the coding is available.
    package var canDecode: Bool { ccurl_codec_exists(number, false) }

    /// Whether the library that encodes the coding is available.
    package var canEncode: Bool { ccurl_codec_exists(number, true) }

    /// The codings that are accepted for bodies, as in `Accept-Encoding`, in order of preference.
    package static let accepted = [brotli, zstd, gzip, deflate].filter(\.canDecode).map(\.rawValue)

    /// The number of the coding in the C module.
    var number: Int32 {
        switch self {
        case .gzip: CCURL_CODING_GZIP
        case .deflate: CCURL_CODING_DEFLATE
        case .brotli: CCURL_CODING_BROTLI
        case .zstd: CCURL_CODING_ZSTD
        }
    }

    /// The default level, at which encoding takes about as much time as it saves on a fast network.
    var defaultLevel: Int32 {
        switch self {
        case .gzip, .deflate: 6
        case .brotli: 5
        case .zstd: 3
        }
    }

    /// The levels that the library of the coding supports.
    package var levels: ClosedRange<Int> {
        switch self {
        case .gzip, .deflate: 1...9
        case .brotli: 0...11
        case .zstd: 1...19
        }
    }
}
