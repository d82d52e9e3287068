#if Redis
import CurlEngine
import FoundationEssentials
import TrellisCore

/// The connection to a server, made anew when it is lost, with the commands that are under way. It lives on a thread of its own, which
/// waits for the socket.
actor RedisConnection: EngineActor {
    /// The largest number of bytes of commands whose replies have not come: a server that reads nothing would otherwise fill the memory.
    private static let maximumUnderWay = 16 << 20

    nonisolated let executor: EngineExecutor
    nonisolated let executorReference: ExecutorReference
    nonisolated let configuration: RedisConfiguration
    nonisolated private let address: RedisAddress
    private let engine: CurlEngine
    private let trust: TrustTable
    private var availability: RedisAvailability
    private var socket: SwitchedConnection?
    /// The batches whose replies have not come, in the order of their commands.
    private var underWay = FIFO<RedisBatch>()
    /// The batches that wait for the first connection.
    private var waiting: [RedisBatch] = []
    private var size = 0
    /// The number of the server's run.
    private var run = ""
    /// The task that makes connections and reads them; `nil` before the first command.
    private var work: Task<Void, Never>?
    private var isStopped = false
    /// The reason why there is no connection, after the last one.
    private var failure: RedisFailure?
    /// The timer that gives the connection up.
    private var silence: EngineTimer?

    init(_ address: RedisAddress, _ configuration: RedisConfiguration, clock: any EngineClock) {
        (self.address, self.configuration) = (address, configuration)
        executor = EngineExecutor(clock: clock)
        executorReference = executor.executorReference
        engine = CurlEngine(executor: executor, configuration: EngineConfiguration())
        trust = TrustTable(configuration.tls)
        availability = RedisAvailability(pause: configuration.pause)
    }

    // MARK: Commands

    /// Sends commands for whose replies nobody waits.
    ///
    /// - Parameters:
    ///   - limit: The time for the replies.
    ///   - commands: Returns the commands for a run of the server. Called on the connection's thread.
    ///   - onEnd: Is called with the result there.
    nonisolated func begin(
        within limit: Duration, _ commands: @escaping @Sendable (_ run: String) -> [RedisCommand],
        onEnd: (@Sendable (Result<[RedisValue], RedisFailure>) -> Void)? = nil
    ) {
        let batch = RedisBatch(deadline: executor.latest.advanced(by: limit), commands, onEnd: onEnd)
        submit { $0.begin(batch) }
    }

    /// Sends commands, and returns their replies, which may be errors.
    ///
    /// - Throws: ``RedisFailure``; `CancellationError` in a cancelled task, at once.
    nonisolated func replies(
        within limit: Duration, _ commands: @escaping @Sendable (_ run: String) -> [RedisCommand]
    ) async throws -> [RedisValue] {
        let batch = RedisBatch(deadline: executor.latest.advanced(by: limit), commands)
        submit { $0.begin(batch) }
        return try await withTaskCancellationHandler {
            try await withReply { reply in submit(reply) { actor, reply in actor.wait(for: batch, reply) } }
        } onCancel: {
            submit { $0.cancel(batch) }
        }
    }

    private func wait(for batch: RedisBatch, _ reply: Reply<[RedisValue]>) {
        if batch.isCancelled { return reply.resume(with: .failure(CancellationError())) }
        if let result = batch.result { return reply.resume(with: result.mapError { $0 }) }
        batch.reply = reply
    }

    private func cancel(_ batch: RedisBatch) {
        batch.isCancelled = true
        let reply = batch.reply.take()
        reply?.resume(with: .failure(CancellationError()))
    }

    private func begin(_ batch: RedisBatch) {
        guard !isStopped else { return batch.end(.failure(.unavailable)) }
        // This thread may have had other work for so long.
        guard executor.latest < batch.deadline else { return batch.end(.failure(.late)) }
        switch availability.answer(at: executor.latest) {
        case .refuse:
            return batch.end(.failure(failure ?? .unavailable))
        case .send: send(batch)
        case .sendWhenConnected:
            startIfNeeded()
            waiting.append(batch)
        }
        if batch.result == nil { setTimer(of: batch) }
    }

    private func setTimer(of batch: RedisBatch) {
        let timer = executor.engineLoop.makeTimer(Deadline(self, batch))
        batch.timer = timer
        executor.engineLoop.set(timer, at: batch.deadline)
    }

    private func send(_ batch: RedisBatch) {
        guard let socket else { return batch.end(.failure(.unavailable)) }
        let commands = batch.commands(run)
        var bytes = Data()
        for command in commands { bytes.append(command.encoded) }
        guard !commands.isEmpty, size + bytes.count <= Self.maximumUnderWay || size == 0 else {
            return batch.end(.failure(.unavailable))
        }
        do {
            _ = try socket.send(bytes)
        } catch {
            return batch.end(.failure(.disconnected(reason: Self.reason(of: error))))
        }
        (batch.missing, batch.size, batch.progress) = (commands.count, bytes.count, .sent([]))
        size += bytes.count
        underWay.append(batch)
    }

    /// The number of batches whose replies have not come; for tests.
    var countUnderWay: Int { underWay.count }

    // MARK: Deadlines

    /// The target of the timer of a batch.
    private final class Deadline: EngineTimerTarget {
        private let connection: RedisConnection
        private let batch: RedisBatch

        init(_ connection: RedisConnection, _ batch: RedisBatch) { (self.connection, self.batch) = (connection, batch) }

        func timerIsDue() { connection.submit { [batch] in $0.didMiss(batch) } }
    }

    /// The target of the timer that gives the connection up.
    private final class Silence: EngineTimerTarget {
        private let connection: RedisConnection

        init(_ connection: RedisConnection) { self.connection = connection }

        func timerIsDue() { connection.submit { $0.giveUp() } }
    }

    private func didMiss(_ batch: RedisBatch) {
        guard batch.result == nil else { return }
        discardTimer(of: batch)
        if case .waiting = batch.progress {
            waiting.removeAll { $0 === batch }
            availability.didWaitInVain()
        } else {
            batch.isOverdue = true
            availability.didMissAnswer(at: executor.latest)
            watchSilence()
        }
        batch.end(.failure(.late))
    }

    private func discardTimer(of batch: RedisBatch) {
        if let timer = batch.timer { executor.engineLoop.discard(timer) }
        batch.timer = nil
    }

    private func watchSilence() {
        guard silence == nil else { return }
        let timer = executor.engineLoop.makeTimer(Silence(self))
        silence = timer
        executor.engineLoop.set(timer, at: executor.latest.advanced(by: configuration.silence))
    }

    private func endSilence() {
        if let silence { executor.engineLoop.discard(silence) }
        silence = nil
    }

    private func giveUp() {
        endSilence()
        if availability.isOverdue { socket?.close() }
    }

    // MARK: Connections

    private func startIfNeeded() {
        guard work == nil, !isStopped else { return }
        work = Task { await keepConnected() }
    }

    private func keepConnected() async {
        while !isStopped {
            let failure: RedisFailure
            do {
                try await connect()
                failure = .disconnected(reason: "the server has ended it")
            } catch {
                failure = error as? RedisFailure ?? .disconnected(reason: Self.reason(of: error))
            }
            self.failure = failure
            let pause = availability.didLose(share: Double.random(in: 0...1))
            leave(failure)
            guard (try? await executor.delay(for: pause)) == true else { return }
        }
    }

    /// Makes a connection, and reads it until it ends.
    private func connect() async throws {
        let socket = try await open()
        defer { socket.close() }
        guard let reader = RedisReader(), !isStopped else { throw RedisFailure.unavailable }
        let commands = address.handshake(configuration)
        let greeting = RedisBatch(deadline: executor.latest.advanced(by: configuration.connectTimeout)) { _ in commands
        }
        self.socket = socket
        send(greeting)
        setTimer(of: greeting)
        while let bytes = try await socket.read() {
            for reply in try reader.replies(completedBy: bytes) { try receive(reply) }
            guard !availability.isConnected else { continue }
            switch greeting.result {
            case .success(let replies): try begin(after: replies)
            case .failure(let failure): throw failure
            case nil: break
            }
        }
    }

    /// Begins to use the connection, whose server has greeted.
    private func begin(after replies: [RedisValue]) throws {
        // The number of the run may be a secret to this user.
        for reply in replies.dropLast() { _ = try reply.checked() }
        if case .error(let reason)? = replies.last, !reason.hasBytePrefix("NOPERM") {
            throw RedisFailure.refused(reason)
        }
        run = replies.last.map { RedisAddress.run(in: $0) } ?? ""
        failure = nil
        availability.didConnect()
        let batches = waiting
        waiting = []
        for batch in batches where batch.result == nil {
            send(batch)
            if batch.result != nil { discardTimer(of: batch) }
        }
    }

    private func open() async throws -> SwitchedConnection {
        var parts = TransferRoute.Parts()
        parts.socket = address.socket.map { TransferRoute.Socket(name: $0, isAbstract: false) }
        let rules = address.url.isSecure ? try await trust.rules(for: address.url.name) : .system
        let options = TransferOptions(
            url: address.url, route: parts.isDirect ? .direct : TransferRoute(parts), trust: rules, method: "",
            version: .http1, switchesProtocols: true)
        let limit = executor.latest.advanced(by: configuration.connectTimeout)
        return try await withReply { reply in
            let opening = RedisOpening(reply)
            let transfer = engine.makeTransfer(options)
            opening.transfer = transfer
            executor.engineLoop.set(EngineTimer(opening), at: limit)
            engine.start(transfer, delegate: opening)
        }
    }

    private func receive(_ reply: RedisValue) throws {
        // Without subscriptions, the server sends nothing that was not asked for.
        guard let batch = underWay.peek, case .sent(let replies) = batch.progressOrOverdue else {
            throw RedisFailure.malformed
        }
        batch.missing -= 1
        if batch.result == nil { batch.progress = .sent(replies + [reply]) }
        guard batch.missing == 0 else { return }
        _ = underWay.popFirst()
        size -= batch.size
        discardTimer(of: batch)
        if batch.isOverdue {
            availability.didCatchUp()
            if !availability.isOverdue { endSilence() }
        }
        batch.end(.success(replies + [reply]))
    }

    /// Ends what was under way on a connection that was lost, or was to be sent on it.
    private func leave(_ failure: RedisFailure) {
        socket = nil
        size = 0
        endSilence()
        let batches = waiting
        waiting = []
        for batch in batches { end(batch, failure) }
        while let batch = underWay.popFirst() { end(batch, failure) }
    }

    private func end(_ batch: RedisBatch, _ failure: RedisFailure) {
        discardTimer(of: batch)
        batch.end(.failure(failure))
    }

    private static func reason(of error: any Error) -> String {
        switch error {
        case let failure as EngineFailure: failure.message
        case is ConnectionClosed: "it was closed"
        default: "\(error)"
        }
    }

    // MARK: The end

    /// Ends the connection, and the thread. What waits fails.
    nonisolated func stop(whenEnded: (@Sendable () -> Void)? = nil) {
        submit { $0.stopNow() }
        executor.stop(whenEnded: whenEnded)
    }

    private func stopNow() {
        isStopped = true
        work?.cancel()
        socket?.close()
        leave(.unavailable)
    }
}

extension RedisBatch {
    /// The progress, as long as replies are missing.
    fileprivate var progressOrOverdue: Progress { result == nil ? progress : .sent([]) }
}
#endif
