package import CurlEngine
public import FoundationEssentials
import HTTPTypes
public import TrellisCore

/// The alternative services of servers (HTTP Alternative Services, RFC 7838), in memory or in curl's own file format.
///
/// ```swift
/// configuration.alternativeServices = AlternativeServiceStore()                    // in memory
/// configuration.alternativeServices = AlternativeServiceStore(file: "alt-svc.txt") // shared with `curl --alt-svc alt-svc.txt`
/// ```
///
/// A server names its alternative services in the field `Alt-Svc` of a response over https. The next requests to its origin go to the first
/// service with HTTP/3, if the running libcurl has it. A service to which no connection can be made has got nothing: the request goes to
/// the origin at once. <doc:Upgrades> has the conditions, the waits after failures, and the rules of the file. At most 5,000 origins are
/// kept.
public final class AlternativeServiceStore: Sendable {
    /// The protocol whose services are used.
    private static let usedProtocol = "h3"

    private let records: RecordStore<AlternativeServiceFormat>
    private let health = Locked(AlternativeHealth())
    /// Whether services with HTTP/3 can be used.
    private let hasHTTP3: Bool

    /// Creates an empty store in memory.
    ///
    /// - Parameter now: Returns the present date; for tests.
    public convenience init(now: @escaping @Sendable () -> Date = { Date() }) {
        self.init(path: nil, hasHTTP3: LibcurlFeatures.current.hasHTTP3, now: now)
    }

    /// Creates a store in a file of curl's format (`curl --alt-svc FILE`).
    ///
    /// - Parameters:
    ///   - path: The path of the file, which is created with the first service.
    ///   - now: Returns the present date; for tests.
    public convenience init(file path: some FilePathConvertible, now: @escaping @Sendable () -> Date = { Date() }) {
        self.init(path: path.filePath, hasHTTP3: LibcurlFeatures.current.hasHTTP3, now: now)
    }

    /// - Parameter hasHTTP3: Whether services with HTTP/3 can be used.
    init(path: String? = nil, hasHTTP3: Bool, now: @escaping @Sendable () -> Date) {
        records = RecordStore(path: path, now: now)
        self.hasHTTP3 = hasHTTP3
    }

    /// The path of the file; `nil` for a store in memory.
    public var path: String? { records.path }

    /// The reason why the file could not be read or written the last time; `nil` if it could.
    public var failure: FileFailure? { records.failure }

    /// Returns the alternative services of the origin of an https URL, in the order of the server's preference, including those that are
    /// not used at present.
    public func services(for url: String) async -> [AlternativeService] {
        await load()
        guard let url = try? WireURL(parsing: url) else { return [] }
        return known(for: url).map(\.service)
    }

    /// Removes all services, and forgets which ones have failed.
    public func removeAll() async {
        records.removeAll()
        health.withLock { $0.removeAll() }
    }

    /// Removes the services that are not said to persist beyond a change of the network (section 2.2), and forgets which ones have failed.
    /// Failures of requests that are under way do not count. A session with the store calls this when the machine's ways to other networks
    /// change (``SessionConfiguration/followsNetworkChanges``).
    public func networkDidChange() async {
        await load()
        for record in records.all {
            let left = record.services.filter(\.persists)
            if left.isEmpty { records.remove(record.key) }
            if !left.isEmpty, left.count < record.services.count {
                records.insert(OriginAlternatives(key: record.key, services: left))
            }
        }
        health.withLock { $0.removeAll() }
    }

    /// Writes all changes to the file now. A store in memory has nothing to write.
    ///
    /// - Throws: ``FileFailure`` if the file cannot be read or written.
    public func flush() async throws(FileFailure) { try await records.flush() }
}

extension AlternativeServiceStore: AlternativeServices {
    /// Whether the services of the file are known.
    package var isLoaded: Bool { records.isLoaded }

    /// Reads the file, if that has not been done.
    package func load() async { await records.load() }

    private func known(for url: WireURL) -> [OriginAlternatives.Known] {
        guard url.isSecure else { return [] }
        let (now, key) = (records.date, OriginAlternatives.key(url))
        return records.withRecords { $0[key]?.services ?? [] }.filter { now < $0.end }
    }

    /// Takes the fields of a response that came over https from a verified server.
    package func receive(_ head: ResponseHead, from url: WireURL) {
        guard let name = Self.fieldName, let field = AlternativeServiceField(head.texts(of: name)) else { return }
        switch field {
        case .clear: records.remove(OriginAlternatives.key(url))
        case .services(let advertised):
            // The age of a response from a cache counts (section 3.1).
            let age = head.texts(of: .age).first.flatMap { DeltaSeconds.parse($0) } ?? 0
            let record = OriginAlternatives(of: url, advertised, age: age, at: records.date)
            guard !record.services.isEmpty else { return records.remove(record.key) }
            records.insert(record)
        }
    }

    private static let fieldName = HTTPField.Name("Alt-Svc")

    /// Returns the service to which a request is sent now; `nil` if that is the origin.
    package func service(for url: WireURL) -> AlternativeService? {
        guard hasHTTP3,
            let service = known(for: url).first(where: { $0.service.protocolID == Self.usedProtocol })?.service
        else { return nil }
        let now = records.date
        return health.withLock { $0.mayUse(use(service, url), at: now) } ? service : nil
    }

    /// Records the beginning of a request to a service of an origin. Returns the number with which the request ends; `nil` if another
    /// request has begun to test the service.
    package func begin(_ service: AlternativeService, of url: WireURL) -> Int? {
        let (now, use) = (records.date, use(service, url))
        return health.withLock { health -> Int? in
            health.mayUse(use, at: now) ? health.begin(use, at: now) : nil
        }
    }

    /// Records the end of a request to a service of an origin. Returns the time for which the service is not used, if it has failed.
    ///
    /// - Parameter generation: The result of ``begin(_:of:)``.
    @discardableResult
    package func end(
        _ service: AlternativeService, of url: WireURL, _ outcome: AlternativeOutcome, generation: Int
    ) -> Double? {
        let (now, use) = (records.date, use(service, url))
        return health.withLock { $0.end(use, outcome, generation: generation, at: now) }
    }

    private func use(_ service: AlternativeService, _ url: WireURL) -> AlternativeHealth.Use {
        AlternativeHealth.Use(origin: OriginAlternatives.key(url), service: service)
    }

    /// Removes a service that does not serve the origin (section 6).
    package func remove(_ service: AlternativeService, of url: WireURL) {
        let left = known(for: url).filter { $0.service != service }
        let key = OriginAlternatives.key(url)
        if left.isEmpty { records.remove(key) } else { records.insert(OriginAlternatives(key: key, services: left)) }
    }
}
