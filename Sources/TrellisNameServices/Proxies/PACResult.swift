import CurlEngine
import TrellisCore

/// The list of proxies that the function of a script has returned, such as `PROXY proxy.example:3128; DIRECT`.
struct PACResult: Sendable {
    /// The number of entries that are used.
    private static let limit = 32

    /// The proxies to try, in order; a single direct connection if the text is empty.
    let proxies: [Proxy]
    /// The number of entries that name no proxy that can be used.
    let unusableCount: Int

    /// Parses a list.
    ///
    /// - Parameter credentials: The proxies with credentials that are used instead of proxies with the same address.
    /// - Throws: ``TrellisError`` of kind ``TrellisError/Kind/proxy`` if there are entries, but none can be used.
    init(parsing text: String, credentials: [Proxy] = []) throws(TrellisError) {
        let entries = text.utf8.split(separator: UInt8(ascii: ";"))
            .map { entry in entry.split { Self.isBlank($0) }.map { String(Substring($0)) } }
            .filter { !$0.isEmpty }
            .prefix(Self.limit)
        let usable = entries.compactMap(Self.proxy)
        guard !usable.isEmpty || entries.isEmpty else {
            throw TrellisError(
                .proxyFailed(.script("its result names no proxy that can be used", mayBeTransient: false)))
        }
        proxies = entries.isEmpty ? [.direct] : usable.map { Self.replaced($0, by: credentials) }
        unusableCount = entries.count - usable.count
    }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || (9...13).contains(byte) }

    private static func proxy(_ words: [String]) -> Proxy? {
        let scheme: String
        switch words[0].lowercasedASCII() {
        case "direct": return words.count == 1 ? .direct : nil
        case "proxy", "http": scheme = "http"
        case "https": scheme = "https"
        case "socks", "socks4": scheme = "socks4"
        case "socks5": scheme = "socks5h"
        default: return nil
        }
        // A host and a port, and no other part of a URL.
        guard words.count == 2, !words[1].utf8.contains(where: { "/?#@\\".utf8.contains($0) }) else { return nil }
        return try? Proxy("\(scheme)://\(words[1])")
    }

    private static func replaced(_ proxy: Proxy, by others: [Proxy]) -> Proxy {
        guard let name = proxy.engine?.name else { return proxy }
        return others.first { other in
            other.engine?.name.hasSameToken(as: name) == true
                && (proxy.kind == other.kind || proxy.kind.isSOCKS && other.kind.isSOCKS)
        } ?? proxy
    }
}
