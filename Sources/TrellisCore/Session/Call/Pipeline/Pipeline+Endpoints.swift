import CurlEngine

/// The stage of the endpoints: each exchange of an origin with an ``EndpointPool`` goes to one of them.
extension Pipeline {
    /// Runs one exchange at an endpoint of its origin, if the origin has some.
    @inline(never)
    func exchangeAtEndpoint(_ request: Request, of table: EndpointTable) async throws -> StepResponse {
        let url = try session.preparation.url(of: request)
        // A route that leads somewhere has been chosen for this origin.
        guard let group = try group(of: request, url, in: table) else {
            return try await exchangeOnceWithinLimits(request)
        }
        let lease = try await lease(for: request, in: group)
        let routed = request.sent(
            to: lease.endpoint, by: session.preparation.routes.route(to: lease.endpoint, of: url, request))
        tell { .endpointSelected(lease.endpoint) }
        do {
            let answer = try await exchangeOnceWithinLimits(routed)
            // A connection in advance shows nothing of the server.
            let isSent = request.extras?.extras.connectionCount == nil
            end(lease, isSent ? .init(ofEndpoint: answer.response.status.code, error: nil) : .neutral)
            whenComplete(answer) { lease.leave() }
            return answer
        } catch {
            end(lease, .init(ofEndpoint: nil, error: error))
            lease.leave()
            throw error.naming(lease.endpoint)
        }
    }

    private func group(of request: Request, _ url: WireURL, in table: EndpointTable) throws -> EndpointGroup? {
        do {
            guard let group = try table.group(of: url) else { return nil }
            return session.preparation.routes.destination(of: request, url) == nil ? group : nil
        } catch {
            throw error.naming(request)
        }
    }

    /// Returns the lease of a request, which may wait for the first set of endpoints within the limit on connecting. Its call has an actor
    /// then (``EndpointTable/mayWait``).
    @inline(never)
    private func lease(for request: Request, in group: EndpointGroup) async throws -> EndpointLease {
        var hasWaited = false
        while true {
            let news: Int
            switch try answer(of: group, for: request, hasWaited: hasWaited) {
            case .lease(let lease):
                call.note(lease.endpoint, hasSucceeded: false)
                return lease
            case .wait(let number): news = number
            }
            try await result(of: .endpoints(origin: group.origin), for: request) { try await group.wait(after: news) }
            hasWaited = true
        }
    }

    private func answer(
        of group: EndpointGroup, for request: Request, hasWaited: Bool
    ) throws -> EndpointGroup.Answer {
        let (breaker, now) = (steps.circuitBreaker, context.now)
        do {
            return try group.lease(for: request, context, hasWaited: hasWaited) { endpoint in
                breaker?.refusal(host: request.limitedHost(at: endpoint), at: now) != nil
            }
        } catch let error as TrellisError {
            throw error.naming(request)
        }
    }

    /// Records the outcome of an exchange at its endpoint.
    private func end(_ lease: EndpointLease, _ outcome: CircuitBreaker.Outcome) {
        if outcome == .success { call.note(lease.endpoint, hasSucceeded: true) }
        switch lease.end(outcome) {
        case .ejected(let time)?: tell { .endpointEjected(lease.endpoint, for: time) }
        case .returned?: tell { .endpointReturned(lease.endpoint) }
        case nil: break
        }
    }
}

extension Error {
    /// Returns the error with the name of the endpoint at which it has occurred.
    fileprivate func naming(_ endpoint: Endpoint) -> any Error {
        guard var error = self as? TrellisError, !error.isCancellation else { return self }
        let text = "at the endpoint \(endpoint)"
        error.detail = error.detail.map { "\($0); \(text)" } ?? text
        return error
    }
}
