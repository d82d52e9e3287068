import HTTPTypes

extension CircuitBreaker {
    /// What an attempt says about its host.
    enum Outcome: Sendable, Hashable {
        case success
        case failure
        /// Nothing.
        case neutral

        /// What an answer or an error says.
        init(status: Int?, error: (any Error)?) {
            guard let error else {
                self =
                    status.map { HTTPResponse.Status.serverFaultCodes.contains($0) ? .failure : .success } ?? .neutral
                return
            }
            guard let error = error as? TrellisError else {
                self = .neutral
                return
            }
            switch error.reason {
            // Nothing went to the host.
            case .limited, .proxyFailed: self = .neutral
            case .timedOut(.total):
                // It was asked, and has not answered in time. Before and behind that the time was somebody else's.
                self = error.phase == .connecting || error.phase == .sending ? .failure : .neutral
            case .validationFailed(.status(let code)): self = Outcome(status: code, error: nil)
            case .invalidResponse(.bodyCutShort), .securityFailed(.handshake): self = .failure
            case .invalidResponse, .validationFailed, .serializationFailed, .redirectFailed: self = .success
            default: self = error.isTransient ? .failure : .neutral
            }
        }
    }
}
