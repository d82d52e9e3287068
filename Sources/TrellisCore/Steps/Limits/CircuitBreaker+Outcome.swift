import HTTPTypes

extension CircuitBreaker {
    /// The outcome of an attempt, as far as its host is concerned.
    enum Outcome: Sendable, Hashable {
        case success
        case failure
        /// The attempt says nothing about the host.
        case neutral

        /// Creates the outcome of a response or an error.
        init(status: Int?, error: (any Error)?) {
            guard let error else {
                guard let status else {
                    self = .neutral
                    return
                }
                // No status below 400 is a fault, which most responses need no search for.
                let isFault = status >= 400 && HTTPResponse.Status.serverFaultCodes.contains(status)
                self = isFault ? .failure : .success
                return
            }
            guard let error = error as? TrellisError else {
                self = .neutral
                return
            }
            switch error.reason {
            // The host has received nothing.
            case .limited, .proxyFailed: self = .neutral
            case .timedOut(.connect) where error.isUntried || error.isTrustTimeout: self = .neutral
            case .timedOut(.total):
                // The host was asked and has not responded in time. In the other phases the time was not the host's.
                self = error.phase == .connecting || error.phase == .sending ? .failure : .neutral
            case .validationFailed(.status(let code)): self = Outcome(status: code, error: nil)
            case .invalidResponse(.bodyCutShort), .securityFailed(.handshake): self = .failure
            case .invalidResponse, .validationFailed, .serializationFailed, .redirectFailed: self = .success
            default: self = error.isTransient ? .failure : .neutral
            }
        }
    }
}
