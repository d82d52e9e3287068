import CurlEngine
import FoundationEssentials
import HTTPTypes

/// The access of a call to scripts that choose its proxies: the scripts are fetched by the session of the call.
struct ScriptAccess: ProxyScriptAccess {
    private static let redirectLimit = 5

    let context: CallContext
    let session: Session

    var now: EngineInstant { context.now }

    func wait(for duration: Duration) async throws { try await context.waitForLimit(now.advanced(by: duration)) }

    private static func failure(_ reason: String, mayBeTransient: Bool = false) -> TrellisError {
        TrellisError(.proxyFailed(.script(reason, mayBeTransient: mayBeTransient)))
    }

    /// Fetches a script with a single exchange for each redirect: no step, default field, cookie or proxy of the session applies.
    func fetch(_ url: String) async throws -> (Data, HTTPFields) {
        let preparation = session.preparation.forScripts
        let start = context.now
        var target = url
        for _ in 0...Self.redirectLimit {
            // With a field of its own, the request gets none of the session's default lines.
            let request = Request(target, headers: [.accept: "application/x-ns-proxy-autoconfig, */*;q=0.5"])
            let response: Response, body: Data
            do {
                (body, response) = try await exchange(request, with: preparation, since: start)
            } catch let error as TrellisError {
                let name = URLRedaction.redact(target)
                var failure = Self.failure(
                    "it cannot be fetched from \(name)", mayBeTransient: error.isTransient || error.isTimeout)
                failure.underlying = error
                throw failure
            }
            if response.status == .ok { return (body, response.headers) }
            let reason = "\(URLRedaction.redact(target)) answers \(response.status.code)"
            guard let location = response.head.redirectTargets.first,
                let next = try? RedirectTarget(location, of: target, sentTo: target), !next.isDowngrade
            else { throw Self.failure(reason, mayBeTransient: response.status.isTransient) }
            target = next.url
        }
        throw Self.failure("\(URLRedaction.redact(url)) leads to more than \(Self.redirectLimit) redirects")
    }

    /// Sends a request of a script, again after each evaluation of its server that has taken time.
    private func exchange(
        _ request: Request, with preparation: RequestPreparation, since start: EngineInstant
    ) async throws -> (Data, Response) {
        if !preparation.trust.isConstant {
            let time = preparation.configuration.timeouts.connect ?? RequestPreparation.scriptLimit
            let end = now.advanced(by: time)
            let limit = TrustFileLimit(
                wait: { try await context.waitForLimit(end, isAtRest: false) },
                elapsed: { .nanoseconds(now.nanoseconds(since: start)) },
                isZero: time <= .zero)
            _ = try await preparation.loadTrust(for: request, now: now) { limit }
        }
        var evaluations = ServerEvaluations()
        defer { withExtendedLifetime(evaluations) {} }
        while true {
            let prepared = try preparation.prepare(request, delivery: .memory, start: start, callID: Call.nextID())
            do {
                let (body, response) = try await session.makeExchange(prepared).collected()
                return (body, response)
            } catch let error as TrellisError {
                let pending = try evaluations.next(after: error)
                try await evaluate(pending, within: preparation.configuration.timeouts, since: start)
            }
        }
    }

    /// Asks the evaluator of the server of a script, within the limit on connecting and the rest of the time for the script.
    private func evaluate(
        _ pending: PendingServerTrust, within limits: Timeouts, since start: EngineInstant
    ) async throws {
        let clock = context.call.clock
        let elapsed = Duration.nanoseconds(now.nanoseconds(since: start))
        let rest = (limits.total ?? RequestPreparation.scriptLimit) - elapsed, limit = min(limits.connect ?? rest, rest)
        let decision: Void? = try await context.result(within: limit) {
            try await FunctionTask.value { try await pending.evaluate(clock: clock) }
        }
        guard decision == nil else { return }
        throw TrellisError.timedOut(
            limit < rest ? .connect : .total, waitingFor: .evaluator(host: pending.trust.host), after: elapsed + limit)
    }
}
