import CurlEngine
import TrellisCore

/// A script for the automatic configuration of proxies, in one session: its text while it is fresh, and its latest results.
final class PACState: ProxyScriptState {
    /// The time for which a result is used.
    private static let resultLifetime = Duration.seconds(60)
    /// The time for which an old script is used if it could not be loaded again.
    private static let extraLifetime = Duration.seconds(60)
    /// The time for which requests wait until an old script is loaded again. After that, they use the old script.
    private static let patience = Duration.seconds(1)
    /// The number of results that are kept.
    private static let limit = 1024

    private struct Text {
        let text: String
        /// The instant until which the script is fresh; `nil` if it never changes.
        var end: EngineInstant?
    }

    /// A loading of the script under way, with the tasks that wait for it, by ticket.
    private struct Loading {
        let number: UInt64
        var task: Task<Void, Never>?
        var waiters: [UInt64: Reply<String>] = [:]
    }

    private struct State {
        var text: Text?
        var loading: Loading?
        /// The loadings that were begun before a change of the network, by number. They serve only the requests that wait for them.
        var formerLoadings: [UInt64: Loading] = [:]
        /// The number of the last ticket or loading.
        var last: UInt64 = 0
        /// The results of the script's function by URL, with the instants until which they are used.
        var results: [TextBytes: (text: String, end: EngineInstant)] = [:]
        /// The number of changes of the network.
        var changes = 0

        mutating func next() -> UInt64 {
            last += 1
            return last
        }

        /// Returns the script if it is fresh; `nil` otherwise.
        func freshText(_ now: EngineInstant) -> String? {
            text.flatMap { text in text.end.map { now < $0 } ?? true ? text.text : nil }
        }
    }

    /// Reads or fetches a script.
    typealias Load = @Sendable (PACScript, any ProxyScriptAccess) async throws -> LoadedProxyScript
    /// Returns the result of a script's function, within the time that it may take.
    typealias Evaluation =
        @Sendable (
            _ text: String, ProxyScriptRunner.Question, any ProxyScriptAccess
        ) async throws -> String

    private let script: PACScript
    private let load: Load
    private let evaluate: Evaluation
    private let state = Locked(State())

    init(
        _ script: PACScript, load: @escaping Load = { try await $0.load($1) },
        evaluate: @escaping Evaluation = { try await PACState.evaluate($0, for: $1, access: $2) }
    ) {
        (self.script, self.load, self.evaluate) = (script, load, evaluate)
    }

    func decision(
        for url: WireURL, credentials: [Proxy], access: any ProxyScriptAccess
    ) async throws -> ProxyDecision {
        let origin = URLOrigin(url)
        if origin.isLoopback, !script.includesLoopback {
            return ProxyDecision(proxies: [], reason: "\(origin.host) is this machine, so the PAC script is not asked")
        }
        let result = try PACResult(parsing: try await result(for: url, access), credentials: credentials)
        let unusable = result.unusableCount
        let note = unusable == 0 ? "" : ", without \(unusable) of its entries that cannot be used"
        return ProxyDecision(proxies: result.proxies, reason: "from the PAC script\(note)")
    }

    private func result(for url: WireURL, _ access: any ProxyScriptAccess) async throws -> String {
        let question = script.question(for: url), key = TextBytes(question.url)
        let text = try await text(access)
        let now = access.now
        let (known, changes) = state.withLock { state -> (String?, Int) in
            (state.results[key].flatMap { now < $0.end ? $0.text : nil }, state.changes)
        }
        if let known { return known }
        let result: String
        do {
            result = try await evaluate(text, question, access)
        } catch let error as ProxyScriptRunner.Failure {
            throw Self.error(error)
        }
        let end = access.now.advanced(by: Self.resultLifetime)
        state.withLock { state in
            // The result of a script that was replaced meanwhile is not kept, nor another network's.
            guard state.changes == changes, let present = state.text?.text, present.hasSameBytes(as: text) else {
                return
            }
            if state.results.count >= Self.limit { state.results = [:] }
            state.results[key] = (result, end)
        }
        return result
    }

    /// Forgets the results, which may depend on the machine's addresses, and lets a script that can change be loaded again: another network
    /// may have another one. Requests that are made from now on do not wait for a loading under way, which may never end.
    func networkDidChange() {
        let unwanted = state.withLock { state -> Loading? in
            state.results = [:]
            state.changes += 1
            if state.text?.end != nil { state.text?.end = EngineInstant(nanoseconds: 0) }
            guard let loading = state.loading.take() else { return nil }
            // A loading without waiters was to decide how long the script is used that is stale now.
            guard !loading.waiters.isEmpty else { return loading }
            state.formerLoadings[loading.number] = loading
            return nil
        }
        unwanted?.task?.cancel()
    }

    private static func evaluate(
        _ text: String, for question: ProxyScriptRunner.Question, access: any ProxyScriptAccess
    ) async throws -> String {
        try await withThrowingTaskGroup(of: String.self) { group in
            group.addTask { try await ProxyScriptRunner.result(of: text, for: question) }
            group.addTask {
                try await access.wait(for: ProxyScriptRunner.limit)
                throw ProxyScriptRunner.Failure.overdue
            }
            defer { group.cancelAll() }
            guard let first = try await group.next() else { throw CancellationError() }
            return first
        }
    }

    private static func error(_ failure: ProxyScriptRunner.Failure) -> TrellisError {
        switch failure {
        case .missingLibrary:
            TrellisError(
                .unsupported(
                    "PAC scripts need the library \(ProxyScriptRunner.library); its package is libpacparser1 in Debian")
            )
        case .script(let reason): TrellisError(.proxyFailed(.script(reason, mayBeTransient: false)))
        case .overdue:
            TrellisError(
                .proxyFailed(
                    .script(
                        "it has not returned within \(ProxyScriptRunner.limit.components.seconds) s",
                        mayBeTransient: true)))
        case .hung:
            TrellisError(
                .proxyFailed(.script("an earlier evaluation of a script has not ended", mayBeTransient: true)))
        }
    }

    // MARK: The text

    /// Returns the text of the script, and loads the script if it is not fresh. Tasks at the same time wait for the same loading, but not
    /// for long if there is an old text.
    private func text(_ access: any ProxyScriptAccess) async throws -> String {
        let now = access.now
        let (known, isFresh, ticket, changes) = state.withLock { state -> (String?, Bool, UInt64, Int) in
            if let text = state.freshText(now) { return (text, true, 0, state.changes) }
            return (state.text?.text, false, state.next(), state.changes)
        }
        guard let known else { return try await loadedText(ticket, access) }
        if isFresh { return known }
        return try await withThrowingTaskGroup(of: String.self) { group in
            group.addTask { [self] in try await loadedText(ticket, access) }
            group.addTask { [self] in
                try await access.wait(for: Self.patience)
                continueLoading(after: changes, now: access.now)
                return known
            }
            defer { group.cancelAll() }
            return try await group.next() ?? known
        }
    }

    /// Lets further requests use the old text for a moment, while the script is being loaded. The text of another network is not used
    /// without a wait of the request's own.
    ///
    /// - Parameter changes: The number of changes of the network when the request began to wait.
    private func continueLoading(after changes: Int, now: EngineInstant) {
        state.withLock { state in
            guard state.changes == changes, state.loading != nil else { return }
            state.text?.end = now.advanced(by: Self.patience * 2)
        }
    }

    /// Waits until the script is loaded.
    private func loadedText(_ ticket: UInt64, _ access: any ProxyScriptAccess) async throws -> String {
        try await withTaskCancellationHandler {
            try await withReply { reply in
                join(ticket: ticket, reply, access)
                // The task may have been cancelled before there was a waiter to remove.
                if Task.isCancelled { leave(ticket) }
            }
        } onCancel: {
            leave(ticket)
        }
    }

    /// Adds a waiter to the loading, and begins it if there is none. A loading that has just ended is enough.
    private func join(ticket: UInt64, _ reply: Reply<String>, _ access: any ProxyScriptAccess) {
        let now = access.now
        let (fresh, new) = state.withLock { state -> (String?, UInt64?) in
            if state.loading == nil, let text = state.freshText(now) { return (text, nil) }
            let isNew = state.loading == nil
            let number = state.loading?.number ?? state.next()
            state.loading = state.loading ?? Loading(number: number)
            state.loading?.waiters[ticket] = reply
            return (nil, isNew ? number : nil)
        }
        if let fresh { return reply.resume(with: .success(fresh)) }
        guard let new else { return }
        let task = Task(executorPreference: globalConcurrentExecutor) { [self] in
            let result: Result<LoadedProxyScript, any Error>
            do { result = .success(try await load(script, access)) } catch { result = .failure(error) }
            end(new, result, now: access.now)
        }
        let isWanted = state.withLock { state in
            if state.loading?.number == new {
                state.loading?.task = task
                return true
            }
            state.formerLoadings[new]?.task = task
            return state.formerLoadings[new] != nil
        }
        // All waiters have left already, or the loading has ended.
        if !isWanted { task.cancel() }
    }

    /// Ends a loading, and resumes its waiters in the order of their arrival. The script is kept if it is the present network's.
    private func end(_ number: UInt64, _ result: Result<LoadedProxyScript, any Error>, now: EngineInstant) {
        let (waiters, outcome) = state.withLock { state -> ([UInt64: Reply<String>], Result<String, any Error>) in
            let former = state.formerLoadings.removeValue(forKey: number)
            guard let loading = former ?? state.loading, loading.number == number else {
                return ([:], .failure(CancellationError()))
            }
            let isKept = former == nil
            if isKept { state.loading = nil }
            switch result {
            case .success(let loaded):
                guard isKept else { return (loading.waiters, .success(loaded.text)) }
                if state.text?.text.hasSameBytes(as: loaded.text) != true { state.results = [:] }
                state.text = Text(text: loaded.text, end: loaded.lifetime.map { now.advanced(by: $0) })
                return (loading.waiters, .success(loaded.text))
            case .failure(let error):
                guard let old = state.text else { return (loading.waiters, .failure(error)) }
                if isKept { state.text?.end = now.advanced(by: Self.extraLifetime) }
                return (loading.waiters, .success(old.text))
            }
        }
        for (_, reply) in waiters.sorted(by: { $0.key < $1.key }) { reply.resume(with: outcome) }
    }

    /// Removes a waiter, and cancels the loading if no waiter is left. If there is an earlier script, the loading continues: its end
    /// decides how long that script is used. The end of a loading in another network decides nothing.
    private func leave(_ ticket: UInt64) {
        let (reply, task) = state.withLock { state -> (Reply<String>?, Task<Void, Never>?) in
            if let reply = state.loading?.waiters.removeValue(forKey: ticket) {
                guard let loading = state.loading, loading.waiters.isEmpty, state.text == nil else {
                    return (reply, nil)
                }
                state.loading = nil
                return (reply, loading.task)
            }
            guard let former = state.formerLoadings.values.first(where: { $0.waiters[ticket] != nil }) else {
                return (nil, nil)
            }
            let reply = state.formerLoadings[former.number]?.waiters.removeValue(forKey: ticket)
            guard former.waiters.count == 1 else { return (reply, nil) }
            state.formerLoadings[former.number] = nil
            return (reply, former.task)
        }
        task?.cancel()
        reply?.resume(with: .failure(CancellationError()))
    }
}
