package import CurlEngine
public import FoundationEssentials
import HTTPTypes
public import TrellisCore

/// The hosts that have asked to be reached over https alone (HTTP Strict Transport Security, RFC 6797), in memory or in curl's own file
/// format.
///
/// ```swift
/// configuration.hsts = HSTSStore()                      // in memory
/// configuration.hsts = HSTSStore(file: "hsts.txt")      // need not be there yet; shared with `curl --hsts hsts.txt`
/// ```
///
/// A host asks with the field `Strict-Transport-Security` of a response over https. After that, the session changes each URL `http://host…`
/// to `https://host…` before anything is sent. <doc:Upgrades> has the rules, of the file too. At most 10,000 hosts are kept, as by curl;
/// above that, the hosts whose time ends first are removed.
public final class HSTSStore: Sendable {
    private let records: RecordStore<HSTSFormat>

    /// Creates an empty store in memory.
    ///
    /// - Parameter now: Returns the present date; for tests.
    public convenience init(now: @escaping @Sendable () -> Date = { Date() }) {
        self.init(RecordStore(path: nil, now: now))
    }

    /// Creates a store in a file of curl's format (`curl --hsts FILE`).
    ///
    /// - Parameters:
    ///   - path: The path of the file, which is created with the first host.
    ///   - now: Returns the present date; for tests.
    public convenience init(file path: some FilePathConvertible, now: @escaping @Sendable () -> Date = { Date() }) {
        self.init(RecordStore(path: path.filePath, now: now))
    }

    private init(_ records: RecordStore<HSTSFormat>) { self.records = records }

    /// The path of the file; `nil` for a store in memory.
    public var path: String? { records.path }

    /// The reason why the file could not be read or written the last time; `nil` if it could.
    public var failure: FileFailure? { records.failure }

    /// The known hosts, in the order of their names.
    public var hosts: [HSTSHost] {
        get async {
            await load()
            return records.all
        }
    }

    /// Returns whether a host is to be reached over https alone: the host is known, or a domain above it whose subdomains are included
    /// (RFC 6797, section 8.2). An IP address never is.
    public func contains(_ host: String) async -> Bool {
        await load()
        return HSTSHost.canonical(host).map(isKnown) ?? false
    }

    /// Stores a host of the caller's, instead of the host with the same name. No response changes a host without an end, such as one of a
    /// preload list (RFC 6797, section 12.3); one with an end is like a host that has asked.
    public func insert(_ host: HSTSHost) async {
        await load()
        records.insert(host)
    }

    /// Removes the host with a name.
    public func remove(_ name: String) async {
        await load()
        if let name = HSTSHost.canonical(name) { records.remove(name) }
    }

    /// Removes all hosts.
    public func removeAll() async { records.removeAll() }

    /// Writes all changes to the file now. A store in memory has nothing to write.
    ///
    /// - Throws: ``FileFailure`` if the file cannot be read or written.
    public func flush() async throws(FileFailure) { try await records.flush() }
}

extension HSTSStore: SecureHosts {
    /// Whether the hosts of the file are known.
    package var isLoaded: Bool { records.isLoaded }

    /// Whether changes are being written.
    var isSaving: Bool { records.isSaving }

    /// Reads the file, if that has not been done.
    package func load() async { await records.load() }

    /// Returns whether a canonical name belongs to a known host, or a subdomain of one that includes its subdomains.
    func isKnown(_ name: String) -> Bool {
        let now = records.date
        return records.withRecords { hosts in
            if hosts.isEmpty { return false }
            if let host = hosts[name], host.isKnown(at: now) { return true }
            var rest = name[...]
            while let dot = rest.firstIndex(ofByte: ".") {
                rest = rest[rest.utf8.index(after: dot)...]
                if let host = hosts[String(rest)], host.includesSubdomains, host.isKnown(at: now) { return true }
            }
            return false
        }
    }

    /// Returns the URL over https instead of one over http; `nil` if the host is not known.
    ///
    /// - Parameters:
    ///   - text: The URL as its author wrote it, with user information and fragment.
    ///   - url: The same URL, parsed.
    package func upgraded(_ text: String, _ url: WireURL) -> String? {
        guard !url.isSecure, let name = HSTSHost.canonical(url.host), isKnown(name) else { return nil }
        return HSTSUpgrade.url(text, url)
    }

    /// Takes the field of a response that came over https from a verified server (RFC 6797, section 8.1). If there are several, the first
    /// counts. A host without an end stays as it is: only the caller can have inserted it (section 12.3).
    package func receive(_ head: ResponseHead, from url: WireURL) {
        guard let field = head.texts(of: .strictTransportSecurity).first, let name = HSTSHost.canonical(url.host),
            let policy = StrictTransportSecurity(field)
        else { return }
        // A host without an end is one of the caller's.
        if records.withRecords({ $0[name].map { $0.expires == nil } ?? false }) { return }
        guard policy.maxAge > 0 else { return records.remove(name) }
        records.insert(
            HSTSHost(
                canonical: name, includesSubdomains: policy.includesSubdomains,
                expires: CurlTimestamp.date(policy.maxAge, after: records.date)))
    }
}

/// The change of a URL from http to https (RFC 6797, section 8.3).
enum HSTSUpgrade {
    /// Returns the URL over https. Port 80 becomes 443, which is the port of https, and any other port stays.
    static func url(_ text: String, _ url: WireURL) -> String {
        let written = URLReference(text)
        let userInformation = written.authority.flatMap { authority in
            authority.lastIndex(ofByte: "@").map { authority[...$0] }
        }
        let port = url.port == 80 || url.port == 443 ? "" : ":\(url.port)"
        let rest = url.text.utf8.dropFirst(url.origin.utf8.count)
        return "https://\(userInformation ?? "")\(url.host)\(port)\(Substring(rest))"
            + (written.fragment.map { "#\($0)" } ?? "")
    }
}
