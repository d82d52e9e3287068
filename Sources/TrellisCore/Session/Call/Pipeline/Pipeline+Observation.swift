import CurlEngine

/// The observation of an exchange, inside of the limits.
extension Pipeline {
    @inline(never)
    func exchangeObserved(
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
