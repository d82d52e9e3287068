package import CurlEngine

/// A source of the addresses of names, instead of the system's: a directory of services, DNS over HTTPS (``DNSOverHTTPS``), a stub.
///
/// ```swift
/// struct Directory: NameResolver {
///     func addresses(of name: String, family: AddressFamily) async throws -> ResolvedAddresses {
///         guard let service = try await services.find(name) else {
///             return try await SystemNameResolver().addresses(of: name, family: family)
///         }
///         return try ResolvedAddresses(service.addresses, timeToLive: .seconds(30))
///     }
/// }
/// configuration.resolver = Directory()
/// ```
///
/// A session keeps the addresses for their time to live, and asks once for several requests that need the same name at the same time. The
/// resolver is called in a separate task, never on the session's threads. The task is cancelled when no request waits for it any more,
/// because of ``Timeouts/connect``, ``Timeouts/total`` or the cancellation of tasks. ``Timeouts/connect`` limits the lookup, and then the
/// connecting.
///
/// An error of the resolver becomes one of kind ``TrellisError/Kind/dns`` with the resolver's as ``TrellisError/underlying``; it is not
/// kept, and a retry asks again.
public protocol NameResolver: Sendable {
    /// Returns the addresses of a name.
    ///
    /// - Parameters:
    ///   - name: The host of a URL in lower case and in ASCII form. Never an address, never `localhost` or a name that ends in
    ///     `.localhost`, which are this machine (RFC 6761, section 6.3), and none of ``localNames``.
    ///   - family: The versions of IP that can be used. Other addresses are left out by the caller.
    /// - Throws: Any error, which becomes the ``TrellisError/underlying`` of one of kind ``TrellisError/Kind/dns``.
    func addresses(of name: String, family: AddressFamily) async throws -> ResolvedAddresses
    /// The names for which the resolver is not asked, because the system looks them up as it does without a resolver;
    /// ``LocalNames/none`` by default. A session asks once for the rule.
    var localNames: LocalNames { get }
}

extension NameResolver {
    /// No name: the resolver is asked for each.
    public var localNames: LocalNames { .none }
}

/// The addresses of a name, and the time for which they may be used.
public struct ResolvedAddresses: Sendable, Hashable {
    /// The longest time for which addresses are kept: one day.
    static let longestTimeToLive = Duration.seconds(86_400)

    /// The addresses without brackets, in the order in which they are tried; IPv4 and IPv6 shortly after each other (RFC 8305).
    public var addresses: [String] { literals.map(\.description) }
    /// The time for which the addresses may be used, at most one day; zero if only for the requests that wait for them.
    public let timeToLive: Duration
    /// The addresses, in the order in which they are tried.
    package let literals: [IPAddress]

    /// Creates the result of a lookup.
    ///
    /// - Parameters:
    ///   - addresses: Literal addresses, in the order in which they are tried. An empty list means that the name has none, which is an
    ///     error of the request.
    ///   - timeToLive: The time for which the addresses may be used. A negative time counts as zero.
    /// - Throws: ``TrellisError`` of kind ``TrellisError/Kind/invalidRequest`` for an address that is not a literal one.
    public init(_ addresses: [String], timeToLive: Duration) throws(TrellisError) {
        var literals: [IPAddress] = []
        for address in addresses { literals.append(try IPAddress(route: address)) }
        self.init(literals: literals, timeToLive: timeToLive)
    }

    package init(literals: [IPAddress], timeToLive: Duration) {
        self.literals = literals
        self.timeToLive = min(max(timeToLive, .zero), Self.longestTimeToLive)
    }
}

/// The system's resolver (`getaddrinfo`), for resolvers that know only some names.
///
/// The system is asked on separate threads, at most 16 at a time. It does not tell how long the addresses may be used: for 60 seconds.
public struct SystemNameResolver: NameResolver {
    /// Creates the resolver.
    public init() {}

    /// Returns the addresses of a name in the system's order (RFC 6724).
    ///
    /// - Throws: ``TrellisError`` of kind ``TrellisError/Kind/dns`` with the system's message; `CancellationError` in a task that was
    ///   cancelled before its turn, without a lookup. One that has begun cannot be ended.
    public func addresses(of name: String, family: AddressFamily) async throws -> ResolvedAddresses {
        let result = try await withTaskExecutorPreference(BlockingExecutor.names) {
            // Lookups that are no longer awaited would keep the threads from others.
            try Task.checkCancellation()
            return SystemLookup.addresses(of: name)
        }
        switch result {
        case .success(let addresses):
            return ResolvedAddresses(literals: addresses.filter { $0.isOf(family) }, timeToLive: .seconds(60))
        case .failure(let failure): throw TrellisError(.connectionFailed(.nameResolution(failure.message)))
        }
    }
}
