import Trellis

/// The code of the article about errors.
func loadUser(_ url: String, session: Session) async throws -> User? {
    do {
        return try await session.decode(User.self, from: url)
    } catch let error as TrellisError where error.response?.status == .notFound {
        return nil
    } catch let error as TrellisError where error.isTimeout || error.isConnectionFailure {
        print("not reachable:", error)
        throw error
    }
}

func report(_ error: any Error) {
    switch error {
    case is CancellationError: break  // the task was cancelled
    case let error as TrellisError where error.isCancellation: break  // the handle was, or the session is shut down
    case let error as TrellisError:
        print(error)  // GET https://api.example.com/: timed out (total) after 5.0 s waiting for the response
        print(error.kind.rawValue, error.attemptCount, error.elapsed, error.mayHaveSentBytes)
        if let excerpt = error.bodyExcerpt?.text { print(error.response?.status.code ?? 0, excerpt) }
    default: print(error)  // of a step, an adapter, a validator or a serializer of your own
    }
}

func advice(for error: TrellisError) -> String? {
    switch error.reason {
    case .securityFailed(.untrusted(let certificate)) where certificate.rule == .unknownAuthority:
        "is \(certificate.issuer ?? "the authority") one of yours? Add it to the authorities of the configuration"
    case .limited(.circuitOpen(let host, _, _, let nextAttempt?)): "\(host) is left alone for \(nextAttempt)"
    case .invalidResponse(.bodyTooLarge(let limit)): "read a stream: the body has more than \(limit) bytes"
    default: nil
    }
}

func addOpeningHours(to configuration: inout SessionConfiguration, isOpen: @escaping @Sendable () -> Bool) {
    struct Closed: Error {}
    configuration.steps.adapters.append(
        Adapter { request, _ in
            guard isOpen() else { throw Closed() }
            return request
        })
}

func unplugged() -> TransportFailure {
    TransportFailure(.connectionFailed(.unreachable("the cable is unplugged")))
}

func fastest(of urls: [String], session: Session) async throws -> Data? {
    try await withThrowingTaskGroup(of: Data.self) { group in
        for url in urls { group.addTask { try await session.data(url).0 } }
        defer { group.cancelAll() }  // the others end with a CancellationError, and their connections are closed
        return try await group.next()
    }
}
