import CurlEngine

/// The observation of an exchange, inside of the limits.
extension Pipeline {
    /// Runs one exchange on its route to the server.
    @inline(__always)
    func exchangeOnRoute(_ request: Request, _ permit: LimitPermit?) async throws -> StepResponse {
        if let observer = call.exchangeObserver { return try await exchangeObserved(request, permit, observer) }
        return try await exchangeUnobserved(request, permit)
    }

    @inline(__always)
    private func exchangeUnobserved(_ request: Request, _ permit: LimitPermit?) async throws -> StepResponse {
        session.configuration.alternativeServices == nil
            ? try await sendToOrigin(request, permit) : try await sendWithAlternatives(request, permit)
    }

    @inline(never)
    private func exchangeObserved(
        _ request: Request, _ permit: LimitPermit?, _ observer: any ExchangeObserver
    ) async throws -> StepResponse {
        let (request, observation) = observer.begin(request, context: context)
        do {
            let answer = try await exchangeUnobserved(request, permit)
            if let observation { end(observation, with: answer) }
            return answer
        } catch {
            observation?.end(with: error)
            throw error
        }
    }

    private func end(_ observation: any ExchangeObservation, with answer: StepResponse) {
        observation.end(with: answer.response, isStreamed: answer.data == nil)
        guard call.delivery == .stream, case .source(let token) = answer.content,
            let source = token.source as? StreamSource
        else { return }
        let last = StreamObservation(observation)
        source.exchange.submitDirectly { exchange in
            exchange.whenEnded { last.observation.endBody(with: $0) }
        }
    }
}

/// The failures of the storage of cookies.
extension Pipeline {
    /// Tells the observer that a file of cookies has failed, once for all requests until the file works again.
    func tellFailure(of jar: any CookieStorage) {
        guard call.observer != nil, let failure = (jar as? CookieFile)?.takeNewFailure() else { return }
        tell { .cookiesFailed(failure) }
    }
}

/// The observation of a streamed response. An engine thread may have the last reference to it.
private final class StreamObservation: Sendable {
    let observation: any ExchangeObservation

    init(_ observation: any ExchangeObservation) { self.observation = observation }

    deinit { UserObjects.release([observation]) }
}

extension CallContext {
    /// The `User-Agent` of requests that have none of their own; `nil` if the session sends none.
    package var defaultUserAgent: String? {
        guard let configuration = (call.sender as? Session)?.configuration else { return nil }
        return configuration.defaultHeaders[.userAgent] ?? configuration.userAgent
    }
}
