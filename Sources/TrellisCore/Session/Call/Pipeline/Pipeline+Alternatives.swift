import CurlEngine

/// The alternative service of an exchange, tried before the origin (RFC 7838).
extension Pipeline {
    /// Sends a request to an alternative service of its origin if there is one; otherwise, and if no connection to the service can be made,
    /// to the origin.
    @inline(never)
    func sendWithAlternatives(_ request: Request, _ permit: LimitPermit?) async throws -> StepResponse {
        // Protocols are switched on connections for HTTP/1.1. The source of a body may be read while the connection to the service is being
        // made.
        if call.delivery != .connection, request.hasReplayableBody,
            let service = session.alternative(for: request),
            let url = try? session.preparation.url(of: request),
            let generation = session.configuration.alternatives?.begin(service, of: url),
            let answer = try await send(request, to: service, of: url, generation, permit)
        {
            return answer
        }
        try call.checkCancellation()
        return try await sendToOrigin(request, permit)
    }

    /// Sends a request to an alternative service. Returns `nil` if the request is to be sent to the origin: nothing was sent, or the
    /// service does not serve the origin.
    @inline(never)
    private func send(
        _ request: Request, to service: AlternativeService, of url: WireURL, _ generation: Int,
        _ permit: LimitPermit?
    ) async throws -> StepResponse? {
        tell { .alternativeSelected(service) }
        do {
            let answer = try await send(session.sending(request, to: service, call.delivery), permit)
            guard answer.response.status == .misdirectedRequest else {
                session.configuration.alternatives?.end(service, of: url, .worked, generation: generation)
                return answer
            }
            didFail(service, of: url, generation, TrellisError(.validationFailed(.status(421))))
            session.configuration.alternatives?.remove(service, of: url)
            await answer.discard(context)
            return nil
        } catch let error as TrellisError where error.isTrustTimeout {
            // Nothing was sent. The origin has all of the time for connecting, and so have its evaluator and the files of certificates. The
            // next requests do not wait again.
            didFail(service, of: url, generation, error)
            return nil
        } catch let error as TrellisError where error.isUntried {
            session.configuration.alternatives?.end(service, of: url, .unknown, generation: generation)
            return nil
        } catch let error as TrellisError where error.isOfConnection {
            didFail(service, of: url, generation, error)
            if error.phase == .connecting { return nil }
            throw error
        } catch {
            session.configuration.alternatives?.end(service, of: url, .unknown, generation: generation)
            throw error
        }
    }

    private func didFail(
        _ service: AlternativeService, of url: WireURL, _ generation: Int, _ error: TrellisError
    ) {
        session.configuration.alternatives?.end(service, of: url, .failed, generation: generation)
        tell { .alternativeFailed(service, because: error) }
    }
}

extension TrellisError {
    /// Whether the connection failed, and not the request.
    fileprivate var isOfConnection: Bool {
        switch reason {
        case .connectionFailed, .securityFailed(.handshake), .securityFailed(.version), .securityFailed(.untrusted),
            .securityFailed(.pinMismatch), .securityFailed(.serverTrustEvaluationFailed), .timedOut(.connect),
            .exchangeFailed:
            true
        default: false
        }
    }
}
