import CCurl
private import Synchronization

/// A URL as libcurl parses it, so that the same parser decides on the host of the connection and on the URL to send.
@safe
package final class WireURL: @unchecked Sendable {
    // Unchecked: nothing changes after `init` but atomics; libcurl only copies from the handle.
    let handle: OpaquePointer?
    /// The complete URL: absolute, normalised and percent-encoded, without fragment and user information. The path and query of an
    /// unchanged URL are in ``target``.
    package let text: String
    /// The path and query of a URL that is sent unchanged; `nil` if ``text`` has them.
    package let target: String?
    /// The scheme: `http` or `https`.
    package let scheme: String
    /// Whether the scheme is `https`.
    package let isSecure: Bool
    /// The host as in the URL, with IPv6 addresses in brackets. A name may end in a dot: it is looked up as it is, without search domains
    /// (RFC 1034, section 3.1), sent so in `Host`, and belongs to another origin than the name without the dot.
    package let host: String
    /// The host without the dot at its end: its name in certificates, and for rules that are about a host.
    package let name: String
    /// The port in the URL, or else the default port of the scheme.
    package let port: UInt16
    /// The part of ``text`` before the path: the scheme, the host and any port other than the scheme's default (RFC 9110, section 4.3.1).
    package let origin: String
    /// The complete URL as ``text`` is, with its scheme and its host in lower case: the same for all spellings of an origin.
    package let canonicalText: String
    /// Whether the host is an IP address, which needs no lookup.
    let isAddress: Bool
    /// The index of the origin in the queue of the session that requested the URL last. Another session, or another origin, may have that
    /// index now.
    package var queueHint: Int {
        get { hint.load(ordering: .relaxed) }
        set { hint.store(newValue, ordering: .relaxed) }
    }
    private let hint = Atomic(-1)
    /// The name of the pool of connections to the origin, with the rules of TLS that the URL was first requested with.
    let poolName = LazyReference<TransferTrust.PoolName>()
    /// The user name of `user:password@`, percent-decoded.
    package let user: String?
    /// The password of `user:password@`, percent-decoded.
    package let password: String?

    /// The reasons why a text is not a URL that can be requested.
    package enum ParseFailure: Error, Hashable, Sendable {
        /// The text is empty.
        case empty
        /// The text is a relative reference.
        case relative
        /// The URL has another scheme than http or https.
        case unsupportedScheme(String)
        /// The URL is malformed, for the given reason.
        case malformed(String)
    }

    /// Parses an absolute http or https URL; spaces and non-ASCII characters are percent-encoded.
    ///
    /// - Parameter isUnchanged: Whether the path and query are sent byte for byte. They must then be printable ASCII, and the
    ///   URL must have no fragment.
    package init(parsing text: String, unchanged isUnchanged: Bool = false) throws(ParseFailure) {
        guard !text.isEmpty else { throw .empty }
        guard !text.utf8.contains(where: { $0 < 0x20 || $0 == 0x7f }) else {
            throw .malformed("it contains a control character")
        }
        if let slashes = text.schemeMark {
            let scheme = text[..<slashes.lowerBound].lowercasedASCII()
            guard scheme == "http" || scheme == "https" else { throw .unsupportedScheme(scheme) }
        }
        let unchanged = isUnchanged ? try URLText(text).separated() : nil
        target = unchanged?.target
        let encoded = try URLText(unchanged?.root ?? text).encoded()
        var parts = unsafe ccurl_url()
        let code = unsafe ccurl_url_parse(encoded, &parts)
        guard code == CURLUE_OK, let url = unsafe parts.url, let scheme = unsafe parts.scheme,
            let host = unsafe parts.host
        else { throw Self.failure(code, text) }
        unsafe handle = parts.handle
        unsafe parts.handle = nil
        defer { unsafe ccurl_url_free(&parts) }
        let known = unsafe String(cString: url).replacingRoot(by: unchanged?.target)
        // libcurl sends an empty query (RFC 3986, section 6.2.3: it may name another resource), and leaves it out of its text.
        let lacksQuery = unchanged == nil && URLText(encoded).hasEmptyQuery && known.utf8.last != UInt8(ascii: "?")
        self.text = lacksQuery ? known + "?" : known
        unsafe self.scheme = String(cString: scheme)
        isSecure = self.scheme == "https"
        unsafe self.host = String(cString: host)
        name = self.host.withoutFinalDot
        isAddress = self.host.isAddress
        let bytes = self.text.utf8
        let authority = bytes.dropFirst(self.scheme.utf8.count + 3)
        // Scheme and host are case-insensitive (RFC 9110, section 4.2.3).
        origin = self.text[..<(authority.firstIndex { $0 == 0x2f || $0 == 0x3f } ?? bytes.endIndex)].lowercasedASCII()
        canonicalText =
            self.text.hasBytePrefix(origin)
            ? self.text : origin + String(Substring(bytes.dropFirst(origin.utf8.count)))
        port = unsafe UInt16(clamping: parts.port)
        unsafe user = parts.user.map { unsafe String(cString: $0) }
        unsafe password = parts.password.map { unsafe String(cString: $0) }
        guard self.scheme == "http" || self.scheme == "https" else { throw .unsupportedScheme(self.scheme) }
        // libcurl decodes the host, so that it may have any byte.
        guard unsafe String(validatingCString: host) != nil,
            self.host.hasBytePrefix("[") || !self.host.containsBytes("%")
        else { throw .malformed("its host is malformed") }
        guard !name.isEmpty, name.utf8.last != UInt8(ascii: ".") else {
            throw .malformed("its host is empty or ends in two dots")
        }
        // Newer versions of libcurl drop the dot of an address.
        guard !Self.endsInNumber(name) || name == self.host && !Self.hostHasFinalDot(encoded) else {
            throw .malformed("its host is an address that ends in a dot")
        }
        guard self.host.utf8.count <= Self.longestHost else {
            throw .malformed("its host is longer than \(Self.longestHost) bytes")
        }
    }

    /// Creates a URL with the scheme, the host and the port of another one, whose text begins in the same way; `nil` unless the rest is a
    /// path and a query that need no encoding and no normalization. The result is as in ``init(parsing:unchanged:)``, with a fifth of
    /// the work.
    fileprivate init?(_ text: String, root: WireURL) {
        let start = root.origin.utf8.count
        guard text.hasBytePrefix(root.origin), let query = Self.plainPathEnd(of: text, from: start),
            let rootHandle = unsafe root.handle
        else { return nil }
        let handle = unsafe text.withCString { bytes in
            unsafe ccurl_url_with_target(rootHandle, bytes + start, query - start)
        }
        guard let handle = unsafe handle else { return nil }
        unsafe self.handle = handle
        (self.text, canonicalText) = (text, text)
        (scheme, isSecure, host, port) = (root.scheme, root.isSecure, root.host, root.port)
        (origin, isAddress, name) = (root.origin, root.isAddress, root.name)
        (target, user, password) = (nil, nil, nil)
    }

    /// Returns the index of the end of the path in a URL whose path begins at an index, in UTF-8; `nil` if the path or the query has bytes
    /// that may need encoding or normalization: others than RFC 3986, section 3.3, allows, percent signs, and dots after a slash.
    private static func plainPathEnd(of text: String, from start: Int) -> Int? {
        let bytes = text.utf8.span
        guard start < bytes.count, bytes[start] == UInt8(ascii: "/") else { return nil }
        var (previous, query): (UInt8, Int?) = (0, nil)
        for index in start..<bytes.count {
            let byte = bytes[index]
            guard isPlain(byte) else { return nil }
            if byte == UInt8(ascii: "."), previous == UInt8(ascii: "/") { return nil }
            if byte == UInt8(ascii: "?"), query == nil { query = index }
            previous = byte
        }
        // libcurl leaves an empty query out of its text.
        return query == bytes.count - 1 ? nil : query ?? bytes.count
    }

    /// Returns whether a byte may be in a path and a query as it is: a letter, a digit or one of `-._~/?!$&()*+,;=:@`.
    private static func isPlain(_ byte: UInt8) -> Bool {
        let bits: UInt64 = byte < 64 ? 0xAFFF_FF52_0000_0000 : byte < 128 ? 0x47FF_FFFE_87FF_FFFF : 0
        return bits >> UInt64(byte & 63) & 1 != 0
    }

    /// Returns whether the last label of a name is a number, as only IPv4 addresses have it (WHATWG URL, section 3.5).
    private static func endsInNumber(_ name: String) -> Bool {
        let label = name.utf8.reversed().prefix { $0 != UInt8(ascii: ".") }.reversed()
        let isHexadecimal = label.starts(with: "0x".utf8)
        return label.dropFirst(isHexadecimal ? 2 : 0).allSatisfy {
            0x30...0x39 ~= $0 || isHexadecimal && 0x61...0x66 ~= $0 | 0x20
        }
    }

    /// Returns whether the host in the text of a URL, which is no IPv6 address, ends in a dot.
    private static func hostHasFinalDot(_ text: String) -> Bool {
        let start = text.schemeMark.map { $0.upperBound } ?? text.startIndex
        let authority = text.utf8[start...].prefix { !"/?#\\".utf8.contains($0) }
        let host = authority.reversed().prefix { $0 != UInt8(ascii: "@") }.reversed()
        return host.prefix { $0 != UInt8(ascii: ":") }.last == UInt8(ascii: ".")
    }

    /// The largest number of bytes in a host's name (RFC 3986, section 3.2.2; RFC 1035, section 2.3.4).
    private static var longestHost: Int { 255 }

    deinit { unsafe curl_url_cleanup(handle) }

    private static func failure(_ code: CURLUcode, _ text: String) -> ParseFailure {
        switch code {
        case CURLUE_UNSUPPORTED_SCHEME:
            // The text before the colon of `name:password@host` is a name, not a scheme.
            guard !text.containsBytes("@") else { return .malformed("it begins with neither http:// nor https://") }
            return .unsupportedScheme(String(text.prefix(beforeBytes: ":")))
        case CURLUE_BAD_SCHEME:
            return text.prefix(beforeBytes: "/?#").utf8.last == UInt8(ascii: ":")
                ? .malformed("its scheme is malformed") : .relative
        case CURLUE_NO_HOST: return .malformed("it has no host")
        default:
            guard let message = unsafe curl_url_strerror(code) else { return .malformed("error \(code.rawValue)") }
            return .malformed(unsafe String(cString: message))
        }
    }
}

extension String {
    /// The name of a host without the dot at its end, which only ends the search for it in DNS: both are the same host.
    package var withoutFinalDot: String { utf8.last == UInt8(ascii: ".") ? String(Substring(utf8.dropLast())) : self }

    /// Whether a host, in lower case, is a name of this machine (RFC 6761, section 6.3).
    package var isLocalName: Bool {
        let name = withoutFinalDot
        return name.hasSameBytes(as: "localhost") || name.hasByteSuffix(".localhost")
    }

    /// Whether a host is an IP address: an IPv6 address in brackets, or an IPv4 address in the form to which libcurl converts all
    /// others.
    var isAddress: Bool {
        guard let last = utf8.last, last == UInt8(ascii: "]") || last >= 0x30 && last <= 0x39 else { return false }
        if last == UInt8(ascii: "]") { return hasBytePrefix("[") }
        let bytes = utf8.span
        var (points, number, hasDigits) = (0, 0, false)
        for index in bytes.indices {
            switch bytes[index] {
            case UInt8(ascii: ".") where hasDigits: (points, number, hasDigits) = (points + 1, 0, false)
            case 0x30...0x39:
                (number, hasDigits) = (number * 10 + Int(bytes[index] - 0x30), true)
                if number > 255 { return false }
            default: return false
            }
        }
        return points == 3 && hasDigits
    }
}

/// A cache of the URLs that were parsed last. Programs request the same URLs repeatedly, and parsing costs more than a lookup.
package final class WireURLCache: Sendable {
    private static let slotCount = 64
    private let slots = Locked([(text: String, url: WireURL)?](repeating: nil, count: slotCount))
    /// URLs from whose scheme, host and port others are made. Their scheme and host are in lower case.
    private let roots = Locked([WireURL?](repeating: nil, count: rootCount))
    private static let rootCount = 16

    /// Creates an empty cache.
    package init() {}

    /// Returns the slot for a text. The standard library's hash would take longer than the comparison that follows. Texts that are made to
    /// share a slot only replace one another.
    private static func slot(of text: String) -> Int {
        let hash = unsafe text.utf8.withContiguousStorageIfAvailable { bytes in
            let bytes = UnsafeRawBufferPointer(bytes)
            var hash = UInt64(bytes.count)
            var start = 0
            while start + 8 <= bytes.count {
                let word = unsafe bytes.loadUnaligned(fromByteOffset: start, as: UInt64.self)
                hash = (hash ^ word) &* 0x9E37_79B9_7F4A_7C15
                hash ^= hash >> 32
                start += 8
            }
            for index in start..<bytes.count { hash = unsafe (hash ^ UInt64(bytes[index])) &* 0x100_0000_01B3 }
            return hash ^ hash >> 32
        }
        return Int(truncatingIfNeeded: (hash ?? UInt64(truncatingIfNeeded: text.hashValue)) % UInt64(slotCount))
    }

    /// Returns the parsed URL of a text, from the cache or parsed now. URLs with user information are not cached.
    ///
    /// - Parameter isUnchanged: Whether the path and query are sent byte for byte.
    package func url(parsing text: String, unchanged isUnchanged: Bool = false) throws(WireURL.ParseFailure) -> WireURL
    {
        let slot = Self.slot(of: text)
        // A text that is not ASCII, but equals an ASCII text for `==`, is longer.
        if let known = slots.withLock({ $0[slot] }), known.text == text, known.text.utf8.count == text.utf8.count,
            (known.url.target != nil) == isUnchanged
        {
            return known.url
        }
        let root = isUnchanged ? nil : Self.root(of: text)
        if let root, let known = roots.withLock({ $0[root] }), let url = WireURL(text, root: known) {
            slots.withLock { $0[slot] = (text, url) }
            return url
        }
        let url = try WireURL(parsing: text, unchanged: isUnchanged)
        // For texts that are not ASCII, `==` treats some different spellings as equal.
        let isKept = url.user == nil && url.password == nil && text.utf8.allSatisfy { $0 < 0x80 }
        if isKept { slots.withLock { $0[slot] = (text, url) } }
        if isKept, let root, url.text.hasBytePrefix(url.origin) { roots.withLock { $0[root] = url } }
        return url
    }

    /// Returns the slot for the scheme, the host and the port of a URL; `nil` if it has none, or no path.
    private static func root(of text: String) -> Int? {
        let bytes = text.utf8.span
        var (hash, slashes): (UInt64, Int) = (0, 0)
        for index in bytes.indices {
            if bytes[index] == UInt8(ascii: "/") { slashes += 1 }
            if slashes == 3 { return Int(truncatingIfNeeded: (hash ^ hash >> 32) % UInt64(rootCount)) }
            hash = (hash ^ UInt64(bytes[index])) &* 0x100_0000_01B3
        }
        return nil
    }
}
