import CurlEngine

/// The attempt to send a request to an alternative service before its origin (RFC 7838).
struct AlternativeAttempt {
    private let pipeline: Pipeline
    private let services: any AlternativeServices
    private let service: AlternativeService
    private let url: WireURL
    /// The number with which the attempt ends.
    private let generation: Int

    /// Begins an attempt; `nil` if there is no service for the request.
    init?(_ request: Request, in pipeline: Pipeline) {
        let upgrades = pipeline.session.upgrades
        // Protocols are switched on connections for HTTP/1.1. The source of a body may be read while the connection to the service is being
        // made.
        guard pipeline.call.delivery != .connection, request.hasReplayableBody,
            request.extras?.extras.connectionCount == nil, let services = upgrades.alternatives,
            let service = upgrades.alternative(for: request),
            let url = try? pipeline.session.preparation.url(of: request),
            let generation = services.begin(service, of: url)
        else { return nil }
        (self.pipeline, self.services, self.service) = (pipeline, services, service)
        (self.url, self.generation) = (url, generation)
    }

    /// Sends the request to the service. Returns `nil` if the request is to be sent to the origin: nothing was sent, or the service does
    /// not serve the origin.
    func send(_ request: Request, _ permit: LimitPermit?) async throws -> StepResponse? {
        pipeline.tell { .alternativeSelected(service) }
        do {
            let sent = pipeline.session.upgrades.sending(request, to: service, pipeline.call.delivery)
            let answer = try await pipeline.send(sent, permit)
            guard answer.response.status == .misdirectedRequest else {
                end(.worked)
                return answer
            }
            fail(TrellisError(.validationFailed(.status(421))))
            services.remove(service, of: url)
            await answer.discard(pipeline.context)
            return nil
        } catch let error as TrellisError where error.isTrustTimeout {
            // Nothing was sent. The origin has all of the time for connecting, and so have its evaluator and the files of certificates. The
            // next requests do not wait again.
            fail(error)
            return nil
        } catch let error as TrellisError where error.kind == .egressRefused {
            fail(error)
            return nil
        } catch let error as TrellisError where error.isUntried {
            end(.unknown)
            return nil
        } catch let error as TrellisError where error.isOfConnection {
            fail(error)
            if error.phase == .connecting { return nil }
            throw error
        } catch {
            end(.unknown)
            throw error
        }
    }

    private func end(_ outcome: AlternativeOutcome) {
        services.end(service, of: url, outcome, generation: generation)
    }

    private func fail(_ error: TrellisError) {
        end(.failed)
        pipeline.tell { .alternativeFailed(service, because: error) }
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
