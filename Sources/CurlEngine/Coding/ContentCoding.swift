import CCurl

/// A content coding (RFC 9110, section 8.4.1) that zlib, brotli or zstd carries out.
package enum ContentCoding: String, Sendable, Hashable, CaseIterable {
    /// RFC 1952.
    case gzip
    /// A zlib stream (RFC 1950).
    case deflate
    /// RFC 7932.
    case brotli = "br"
    /// RFC 8878, with the limits of RFC 9659.
    case zstd

    /// The coding by its name in `Content-Encoding`: in any case, `x-gzip` as well.
    package init?(name: some StringProtocol) {
        let name = name.lowercased()
        self.init(rawValue: name == "x-gzip" ? "gzip" : name)
    }

    /// Whether the library that decodes it is there.
    package var canDecode: Bool { ccurl_codec_exists(number, false) }

    /// Whether the library that encodes it is there.
    package var canEncode: Bool { ccurl_codec_exists(number, true) }

    /// What bodies may come in, as `Accept-Encoding` asks for it: in order of preference.
    package static let accepted = [brotli, zstd, gzip, deflate].filter(\.canDecode).map(\.rawValue)

    /// As the C side counts them.
    var number: Int32 {
        switch self {
        case .gzip: CCURL_CODING_GZIP
        case .deflate: CCURL_CODING_DEFLATE
        case .brotli: CCURL_CODING_BROTLI
        case .zstd: CCURL_CODING_ZSTD
        }
    }

    /// A level that costs about as much time as it saves on a fast network.
    var defaultLevel: Int32 {
        switch self {
        case .gzip, .deflate: 6
        case .brotli: 5
        case .zstd: 3
        }
    }

    /// The levels that its library takes.
    package var levels: ClosedRange<Int> {
        switch self {
        case .gzip, .deflate: 1...9
        case .brotli: 0...11
        case .zstd: 1...19
        }
    }
}
