import CurlEngine
@_spi(Transport) public import TrellisCore

/// A transport that replays the recordings of a ``Cassette``, and records them in the modes that do so.
///
/// ```swift
/// @Test func aUserIsRead() async throws {
///     let transport = CassetteTransport(Cassette("users"))
///     let session = Session(transport: transport)
///     #expect(try await session.decode(User.self, from: "https://api.example.com/users/7").name == "Ada")
///     #expect(try await transport.unusedRecordings() == [])
/// }
/// ```
///
/// A replay never reaches the network: a request that is not recorded fails with an error that shows the nearest recording, the differences
/// and the command that replaces the recordings. Each hop and each attempt is a separate request. A recorded failure is replayed as a
/// failure of the same kind.
///
/// In the modes that record, a request is sent by a session of the transport's own, and its reader receives the response as it arrives. Its
/// recording is in the file when the response ends; a file above 1 MiB is completed by ``finish()``.
///
/// Conversations over WebSockets are neither recorded nor replayed.
public final class CassetteTransport: Transport {
    /// The cassette.
    public let cassette: Cassette
    private let tape: CassetteTape
    private let upstream: CassetteUpstream

    /// Creates a transport. The file is opened with the first request.
    ///
    /// - Parameters:
    ///   - cassette: The cassette.
    ///   - transport: The transport that sends the requests that are recorded; over the network if `nil`, the default.
    public init(_ cassette: Cassette, upstream transport: (any Transport)? = nil) {
        self.cassette = cassette
        tape = CassetteTape(cassette)
        upstream = CassetteUpstream(cassette.upstream, transport)
    }

    /// `false`: the session asks no resolver and reads no certificates. The requests that are recorded are sent by a session of the
    /// transport's own (``Cassette``).
    @_spi(Transport) public var makesConnections: Bool { false }

    /// Starts an attempt.
    @_spi(Transport) public func start(_ request: TransportRequest, events: any TransportEvents) -> any TransportTask {
        let exchange = CassetteExchange(request, events: events) { [tape, upstream] exchange in
            try await CassettePerformance(exchange: exchange, tape: tape, upstream: upstream).run()
        }
        exchange.begin()
        return exchange
    }

    /// The requests that no recording matched, in the order of their arrival. Their own errors say the same.
    public var unmatchedRequests: [CassetteError] { tape.unmatched }

    /// Returns the request lines of the recordings in the file that were not replayed, in the order of the file.
    ///
    /// - Throws: ``CassetteError`` if the file cannot be read.
    public func unusedRecordings() async throws -> [String] {
        try await tape.open()
        return tape.unused
    }

    /// Ends the exchanges that are being recorded, writes the recordings that are not in the file yet, with what was read of the responses
    /// that have not ended, and closes the connections. A request that is made later is recorded as before.
    ///
    /// - Throws: ``CassetteError`` if the file cannot be written, or holds a credential in use (``Cassette/scrubsUsedCredentials``).
    public func finish() async throws {
        await tape.endRecordings()
        await upstream.close()
        try await tape.finish()
    }
}

/// The session that sends the requests of a cassette, made with the first of them.
final class CassetteUpstream: Sendable {
    private let configuration: SessionConfiguration
    private let transport: (any Transport)?
    private let session = Locked<Session?>(nil)
    private let connections = CassetteConnections()

    init(_ configuration: SessionConfiguration, _ transport: (any Transport)?) {
        (self.configuration, self.transport) = (configuration.raw, transport)
    }

    /// Sends a request, and waits for the head of the response.
    ///
    /// - Parameter whenConnected: Called when the connection is ready, unless that becomes known with the head.
    func stream(
        _ request: Request, whenConnected: @escaping @Sendable () -> Void
    ) async throws -> StreamResponse {
        let session = session.withLock { session in
            if let session { return session }
            var configuration = configuration
            configuration.eventMonitors = [connections]
            let made = Session(configuration: configuration, transport: transport)
            session = made
            return made
        }
        let request = request.withAdapter(
            Adapter { [connections] request, context in
                connections.add(context.callID, whenConnected)
                return request
            })
        return try await session.stream(request)
    }

    func close() async {
        let session = session.withLock { session in
            defer { session = nil }
            return session
        }
        await session?.shutdown()
    }
}

/// The calls that wait for their connections. The session under test has its own limit on connecting, and is told when that is over.
private final class CassetteConnections: EventMonitor {
    private let waiting = Locked<[UInt64: @Sendable () -> Void]>([:])

    func add(_ callID: UInt64, _ body: @escaping @Sendable () -> Void) { waiting.withLock { $0[callID] = body } }

    func handle(_ event: RequestEvent) async {
        switch event.kind {
        case .connected: waiting.withLock { $0.removeValue(forKey: event.callID) }?()
        case .finished, .failed: waiting.withLock { $0[event.callID] = nil }
        default: break
        }
    }
}

extension CassetteTransport: TestTransport {
    /// Ends the use of the transport as ``finish()`` does. The problems are requests that no recording matched and, if the cassette does
    /// not allow it, recordings that were not replayed.
    ///
    /// - Throws: ``CassetteError``, as ``finish()`` does.
    public func finish(hasFailed: Bool) async throws -> [TestProblem] {
        try await finish()
        var problems = unmatchedRequests.map { TestProblem("\($0)") }
        if !hasFailed, !cassette.allowsUnused {
            problems += try await unusedRecordings().map { TestProblem("the recording of \($0) was not used") }
        }
        return problems
    }
}

extension TransportProvider {
    /// Returns a provider of a ``CassetteTransport`` for a cassette beside the file of the test: `Cassettes/NAME.har`. Its mode is
    /// ``CassetteMode/environment``.
    ///
    /// - Parameters:
    ///   - name: The name of the cassette.
    ///   - filePath: The path of the test's source file.
    ///   - change: A change of the cassette's settings, such as its scrubbers.
    public static func cassette(
        _ name: String, filePath: String = #filePath,
        _ change: @escaping @Sendable (_ cassette: inout Cassette) -> Void = { _ in }
    ) -> TransportProvider {
        provider(of: Cassette(name, filePath: filePath), change)
    }

    /// Returns a provider of a ``CassetteTransport`` for a cassette beside the file of the test, with its own mode.
    ///
    /// - Parameters:
    ///   - name: The name of the cassette.
    ///   - mode: How the cassette is used.
    ///   - filePath: The path of the test's source file.
    ///   - change: A change of the cassette's settings, such as its scrubbers.
    public static func cassette(
        _ name: String, mode: CassetteMode, filePath: String = #filePath,
        _ change: @escaping @Sendable (_ cassette: inout Cassette) -> Void = { _ in }
    ) -> TransportProvider {
        provider(of: Cassette(name, mode: mode, filePath: filePath), change)
    }

    private static func provider(
        of cassette: Cassette, _ change: @escaping @Sendable (_ cassette: inout Cassette) -> Void
    ) -> TransportProvider {
        TransportProvider {
            var cassette = cassette
            change(&cassette)
            return CassetteTransport(cassette)
        }
    }
}

extension SessionConfiguration {
    /// The configuration without all that the session under test does itself.
    fileprivate var raw: SessionConfiguration {
        var raw = self
        raw.steps = Steps()
        raw.steps.redirectHandler = .doNotFollow
        raw.decodesContent = false
        (raw.baseURL, raw.defaultQueryItems, raw.defaultHeaders) = (nil, [], [:])
        (raw.userAgent, raw.acceptLanguage) = (nil, nil)
        (raw.secureHosts, raw.alternatives) = (nil, nil)
        raw.timeouts = Timeouts(connect: nil, responseHead: nil, idle: nil, total: nil)
        return raw
    }
}
