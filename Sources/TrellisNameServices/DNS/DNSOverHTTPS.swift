import CurlEngine
import FoundationEssentials
import HTTPTypes
public import TrellisCore

/// A resolver that asks a server by DNS over HTTPS (RFC 8484).
///
/// ```swift
/// configuration.resolver = try DNSOverHTTPS("https://dns.example/dns-query", bootstrap: ["192.0.2.53", "2001:db8::53"])
/// ```
///
/// IPv4 and IPv6 addresses are asked for at the same time, and IPv6 addresses are tried first. Once one kind is there, the other is awaited
/// for 50 ms (IPv6, the resolution delay of RFC 8305, section 3) or a second (IPv4). If one of the questions fails, the addresses of the
/// other are used, for at most 10 seconds. Otherwise they are kept for the shortest time to live, less the `Age` of the response.
///
/// The requests have a separate session and tell nothing except the question: no `User-Agent`, no cookies.
/// The system looks up the names of ``localNames``, such as `db` and `printer.local`, and without `bootstrap` addresses the server's name.
///
/// A failure is a ``DNSFailure``, or the ``TrellisError`` of the request. As ``SessionConfiguration/resolver``, it is the
/// ``TrellisError/underlying`` error of one of kind ``TrellisError/Kind/dns``.
public struct DNSOverHTTPS: NameResolver {
    /// The methods with which a server can be asked (RFC 8484, section 4.1).
    public enum Method: String, Sendable, Hashable, CaseIterable {
        /// The question is the body of a `POST`: the smallest requests.
        case post
        /// The question is part of the URL of a `GET`, so that HTTP caches on the way can respond.
        case get
    }

    /// The content type of DNS messages (RFC 8484, section 6).
    private static let type = "application/dns-message"
    /// The largest size of a DNS message in bytes.
    private static let maximumSize = 65_535

    /// The URL of the server.
    public let url: String
    /// The method of the requests.
    public let method: Method
    /// The names that the server is not asked for, and the system looks up; ``LocalNames/standard`` unless given.
    public let localNames: LocalNames
    package var users: ResolverUsers?
    private let session: Session
    /// The settings of the resolver's own session.
    package var configuration: SessionConfiguration { session.configuration }

    /// Creates a resolver.
    ///
    /// - Parameters:
    ///   - url: The `https` URL of the server; one with `http` only for this machine. The ending `{?dns}` of a URI template is ignored.
    ///   - method: The method of the requests.
    ///   - bootstrap: The literal addresses of the server, if its host is not to be looked up.
    ///   - localNames: The names that the server is not asked for. ``LocalNames/none`` suits a server of one's own network, which knows
    ///     its names.
    ///   - configuration: The settings of the resolver's own session, such as authorities to trust, a proxy or limits on time. Its
    ///     resolver, steps, base URL and default fields are not used.
    /// - Throws: ``TrellisError`` of kind ``TrellisError/Kind/invalidURL`` for a URL that is not absolute, or not `https`; of kind
    ///   ``TrellisError/Kind/invalidRequest`` for a bootstrap address that is not a literal one.
    public init(
        _ url: some URLConvertible, method: Method = .post, bootstrap: [String] = [],
        localNames: LocalNames = .standard, configuration: SessionConfiguration = SessionConfiguration()
    ) throws {
        var text = try url.asURLString()
        if text.hasByteSuffix("{?dns}") { text.removeLast("{?dns}".count) }
        let wire: WireURL
        do {
            wire = try WireURL(parsing: text)
        } catch {
            throw TrellisError(
                .invalidRequest(.url("it is not that of a DNS server: it is not an absolute https URL")), url: text)
        }
        guard wire.isSecure || URLOrigin(wire).isLoopback else {
            throw TrellisError(.invalidRequest(.url("it is not that of a DNS server: it is not https")), url: text)
        }
        var configuration = configuration
        configuration.resolver = nil
        configuration.steps = Steps()
        configuration.steps.redirectHandler = .doNotFollow
        configuration.baseURL = nil
        configuration.defaultQueryItems = []
        configuration.defaultHeaders = [:]
        configuration.userAgent = nil
        configuration.acceptLanguage = nil
        configuration.maximumBodySize = .bytes(Self.maximumSize)
        if !bootstrap.isEmpty {
            try configuration.route.addresses.set(bootstrap, for: wire.host, port: Int(wire.port))
        }
        // Some DNS servers speak nothing before HTTP/2 (RFC 8484, section 5.2).
        if configuration.httpVersion == .automatic, !EngineConfiguration.sharesConnections {
            configuration.httpVersion = .http3Preferred
        }
        self.url = text
        self.method = method
        self.localNames = localNames
        session = Session(configuration: configuration)
    }

    /// Ends the resolver's own session: closes its connections, and waits until its threads have ended. Sessions may share a resolver, so
    /// that none of them ends it with its own shutdown.
    ///
    /// Questions in flight and later ones fail with the error of requests of a session that was shut down, which is of kind
    /// ``TrellisError/Kind/cancelled``. Copies of the resolver share its session.
    public func shutdown() async { await session.shutdown() }

    /// Asks the server for the addresses of a name; the system if it is one of ``localNames``.
    ///
    /// - Throws: ``DNSFailure``, ``TrellisError`` of the request to the server or of the system; `CancellationError` in a cancelled task.
    public func addresses(of name: String, family: AddressFamily) async throws -> ResolvedAddresses {
        if let local = try await localNames.addresses(of: name, family: family) { return local }
        guard let name = DNSName(name) else { throw DNSFailure.noSuchName }
        switch family {
        case .ipv4: return try await answer(to: DNSQuery(name: name, type: .a)).get()
        case .ipv6: return try await answer(to: DNSQuery(name: name, type: .aaaa)).get()
        case .any:
            let (ipv6, ipv4) = await bothAnswers(for: name)
            return try Self.joined(ipv6, ipv4)
        }
    }

    /// The times for which the addresses of one version of IP are awaited, once there are addresses of the other.
    private static let delays = (ipv6: Duration.milliseconds(50), ipv4: Duration.seconds(1))
    /// The time for which addresses are kept if the question about the other version of IP had no response, or failed.
    private static let incompleteLifetime = Duration.seconds(10)

    /// Asks for both versions of IP. One of the two results is `nil` if its response came too late.
    private func bothAnswers(
        for name: DNSName
    ) async -> (ipv6: Result<ResolvedAddresses, any Error>?, ipv4: Result<ResolvedAddresses, any Error>?) {
        enum Event: Sendable {
            case ipv6(Result<ResolvedAddresses, any Error>)
            case ipv4(Result<ResolvedAddresses, any Error>)
            case delayIsOver
        }
        return await withTaskGroup(of: Event.self) { group in
            group.addTask { .ipv6(await answer(to: DNSQuery(name: name, type: .aaaa))) }
            group.addTask { .ipv4(await answer(to: DNSQuery(name: name, type: .a))) }
            var (ipv6, ipv4) = (Result<ResolvedAddresses, any Error>?.none, Result<ResolvedAddresses, any Error>?.none)
            while ipv6 == nil || ipv4 == nil, let event = await group.next() {
                switch event {
                case .ipv6(let result): ipv6 = result
                case .ipv4(let result): ipv4 = result
                case .delayIsOver:
                    group.cancelAll()
                    return (ipv6, ipv4)
                }
                let found = try? (ipv6 ?? ipv4)?.get()
                guard ipv6 == nil || ipv4 == nil, let found, !found.literals.isEmpty else { continue }
                let delay = ipv6 == nil ? Self.delays.ipv6 : Self.delays.ipv4
                group.addTask {
                    try? await Task.sleep(for: delay)
                    return .delayIsOver
                }
            }
            group.cancelAll()
            return (ipv6, ipv4)
        }
    }

    /// Returns the addresses of both versions of IP. A failure counts only if there is no address.
    ///
    /// - Parameters:
    ///   - ipv6: The result of the question about IPv6; `nil` without a response in time, if there are IPv4 addresses.
    ///   - ipv4: The result of the question about IPv4, likewise.
    static func joined(
        _ ipv6: Result<ResolvedAddresses, any Error>?, _ ipv4: Result<ResolvedAddresses, any Error>?
    ) throws -> ResolvedAddresses {
        let found = [ipv6, ipv4].compactMap { try? $0?.get() }.filter { !$0.literals.isEmpty }
        guard var shortest = found.map(\.timeToLive).min() else {
            _ = try ipv4?.get()
            guard let ipv6 else { throw DNSFailure.noSuchName }
            return try ipv6.get()
        }
        let isComplete = [ipv6, ipv4].allSatisfy { if case .success = $0 { true } else { false } }
        if !isComplete { shortest = min(shortest, Self.incompleteLifetime) }
        return ResolvedAddresses(literals: found.flatMap(\.literals), timeToLive: shortest)
    }

    private func answer(to query: DNSQuery) async -> Result<ResolvedAddresses, any Error> {
        do {
            let (body, response) = try await session.data(request(for: query))
            return .success(try Self.addresses(in: body, response, to: query))
        } catch {
            return .failure(error)
        }
    }

    /// Returns the request with a question.
    private func request(for query: DNSQuery) -> Request {
        let message = Data(query.bytes)
        switch method {
        case .post:
            var request = Request(
                url, method: .post, headers: [.accept: Self.type, .contentType: Self.type], body: .data(message))
            // A question changes nothing (RFC 8484, section 4.1), and a kept connection ends when its server is started again.
            request.isRepeatable = true
            return request
        case .get:
            // Base64 for URLs, without padding (RFC 4648, section 5).
            let text = message.base64EncodedString().replacing(byte: "+", with: "-").replacing(byte: "/", with: "_")
                .replacing(byte: "=", with: "")
            return Request(url, headers: [.accept: Self.type]).addingQuery([URLQueryItem(name: "dns", value: text)])
        }
    }

    /// Reads the addresses in a response.
    private static func addresses(
        in body: Data, _ response: Response, to query: DNSQuery
    ) throws -> ResolvedAddresses {
        guard (200...299).contains(response.status.code) else { throw DNSFailure.status(response.status.code) }
        let type = response.headers[.contentType]
        let essence = type?.prefix(beforeBytes: ";").split(atByte: " ").first
        guard essence?.lowercasedASCII() == Self.type else { throw DNSFailure.contentType(type) }
        let answer = try DNSAnswer([UInt8](body), to: query)
        let age = response.headers[.age].flatMap { UInt32($0) } ?? 0
        let rest = answer.timeToLive > age ? answer.timeToLive - age : 0
        return ResolvedAddresses(literals: answer.addresses, timeToLive: .seconds(rest))
    }
}

extension DNSOverHTTPS: ServerResolver {}

extension DNSOverHTTPS: RedactedDescription {
    /// The URL of the server, without secrets.
    public var description: String { "DNSOverHTTPS(\(URLRedaction.redact(url)))" }
}
