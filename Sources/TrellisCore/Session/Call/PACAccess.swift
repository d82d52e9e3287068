import CurlEngine
import FoundationEssentials
import HTTPTypes

/// The access of a call to scripts that choose its proxies: the scripts are fetched by the session of the call.
struct PACAccess: ProxyScriptAccess {
    /// The largest size of a script, in bytes.
    private static let sizeLimit = RequestPreparation.scriptSizeLimit
    /// The time that a script may take for its result.
    private static let resultLimit = ProxyScriptRunner.limit
    private static let redirectLimit = 5, evaluationLimit = 8

    let context: CallContext
    let session: Session

    var now: EngineInstant { context.now }

    func wait(for duration: Duration) async throws { try await context.pause(for: duration) }

    // MARK: The result

    func withinLimit(_ result: @escaping @Sendable () async throws -> String) async throws -> String {
        try await withThrowingTaskGroup(of: String.self) { group in
            group.addTask { try await result() }
            group.addTask { [context] in
                try await context.pause(for: Self.resultLimit)
                let reason = "it has not returned within \(Self.resultLimit.components.seconds) s"
                throw TrellisError(.proxyFailed(.script(reason, mayBeTransient: true)))
            }
            defer { group.cancelAll() }
            guard let first = try await group.next() else { throw CancellationError() }
            return first
        }
    }

    // MARK: The script

    func load(_ script: PACScript) async throws -> LoadedProxyScript {
        switch script.source {
        case .text(let script): LoadedProxyScript(text: try Self.checked(script.text), lifetime: nil)
        case .file(let path): LoadedProxyScript(text: try await Self.read(path), lifetime: .seconds(60))
        case .url(let url): try await fetch(url)
        }
    }

    private static func checked(_ text: String) throws(TrellisError) -> String {
        guard !text.utf8.contains(0) else { throw failure("it is not text") }
        return text
    }

    private static func failure(_ reason: String, mayBeTransient: Bool = false) -> TrellisError {
        TrellisError(.proxyFailed(.script(reason, mayBeTransient: mayBeTransient)))
    }

    private static func read(_ path: String) async throws -> String {
        do {
            let data = try await BlockingThreadPool.tryingUnlessCancelled(at: FileSystem.folder(of: path)) {
                try WholeFile.read(path: path, limit: sizeLimit)?.data
            }
            guard let data else { throw failure("there is no file \(path)") }
            return try checked(text(data))
        } catch let error as FileError {
            throw failure("the file \(path) cannot be read: \(error.reason)")
        }
    }

    /// Returns the text of bytes, without a byte order mark.
    private static func text(_ bytes: Data) -> String {
        let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
        return String(decoding: bytes.starts(with: mark) ? bytes.dropFirst(3) : bytes, as: UTF8.self)
    }

    /// Fetches a script with a single exchange for each redirect: no step, default field, cookie or proxy of the session applies.
    private func fetch(_ url: String) async throws -> LoadedProxyScript {
        let preparation = session.preparation.forScripts
        let start = context.now
        var target = url
        for _ in 0...Self.redirectLimit {
            // With a field of its own, the request gets none of the session's default lines.
            let request = Request(target, headers: [.accept: "application/x-ns-proxy-autoconfig, */*;q=0.5"])
            let response: Response, body: Data
            do {
                (body, response) = try await exchange(request, preparation, start)
            } catch let error as TrellisError {
                let name = URLRedaction.redact(target)
                var failure = Self.failure(
                    "it cannot be fetched from \(name)", mayBeTransient: error.isTransient || error.isTimeout)
                failure.underlying = error
                throw failure
            }
            if response.status == .ok {
                let lifetime = Self.lifetime(response.headers)
                return LoadedProxyScript(text: try Self.checked(Self.text(body)), lifetime: lifetime)
            }
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
        _ request: Request, _ preparation: RequestPreparation, _ start: EngineInstant
    ) async throws -> (Data, Response) {
        if !preparation.trust.isConstant {
            let time = preparation.configuration.timeouts.connect ?? RequestPreparation.scriptLimit
            let limit = TrustFileLimit(
                wait: { try await wait(for: time) }, elapsed: { .nanoseconds(now.nanoseconds(since: start)) },
                isZero: time <= .zero)
            _ = try await preparation.loadTrust(for: request, now: now) { limit }
        }
        var evaluations = 0
        // The acceptance is that of a host, which the table keeps while it is held.
        var asked: PendingServerTrust?
        defer { withExtendedLifetime(asked) {} }
        while true {
            let prepared = try preparation.prepare(request, delivery: .memory, start: start, callID: Call.nextID())
            do {
                let (body, response) = try await session.makeExchange(prepared, isInFlight: true).collected()
                return (body, response)
            } catch let error as TrellisError {
                guard let pending = error.pendingTrust else { throw error }
                guard evaluations < Self.evaluationLimit else {
                    throw TrellisError(
                        .serverTrust(.changingCertificates(host: pending.trust.host, evaluations: evaluations)))
                }
                evaluations += 1
                asked = pending
                try await evaluate(pending, preparation.configuration.timeouts, start)
            }
        }
    }

    /// Asks the evaluator of the server of a script, within the limit on connecting and the rest of the time for the script.
    private func evaluate(_ pending: PendingServerTrust, _ limits: Timeouts, _ start: EngineInstant) async throws {
        let clock = context.call.clock
        let elapsed = Duration.nanoseconds(now.nanoseconds(since: start))
        let rest = (limits.total ?? RequestPreparation.scriptLimit) - elapsed, limit = min(limits.connect ?? rest, rest)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await FunctionTask.value { try await pending.evaluate(clock: clock) } }
            group.addTask { [context] in
                try await context.pause(for: limit)
                var error = TrellisError(.timedOut(limit < rest ? .connect : .total), phase: .connecting)
                error.metrics.total = elapsed + limit
                error.detail = CallFunction.evaluator(host: pending.trust.host).description
                throw error
            }
            defer { group.cancelAll() }
            try await group.next()
        }
    }

    /// Returns the time for which a response is fresh (RFC 9111, section 4.2.1): from a minute to a day, and an hour if it does not say.
    static func lifetime(_ headers: HTTPFields) -> Duration {
        let directives = (headers[.cacheControl] ?? "").lowercasedASCII().split(atByte: ",").map(\.withoutBlanks)
        if directives.contains("no-store") || directives.contains("no-cache") { return .seconds(60) }
        guard let age = directives.first(where: { $0.hasBytePrefix("max-age=") }) else { return .seconds(3600) }
        let digits = String(decoding: age.utf8.dropFirst(8).filter { $0 != UInt8(ascii: "\"") }, as: UTF8.self)
        guard !digits.isEmpty, digits.utf8.allSatisfy({ 0x30...0x39 ~= $0 }) else { return .seconds(60) }
        return .seconds(min(max(Int(digits) ?? 86_400, 60), 86_400))
    }
}
