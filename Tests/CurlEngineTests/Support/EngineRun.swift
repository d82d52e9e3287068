import FoundationEssentials
import Testing

@testable import CurlEngine

/// An engine without a session, which runs transfers one after the other or concurrently.
struct EngineRun: Sendable {
    /// A delegate that stores the outcome of one transfer, and is used on the engine thread.
    final class Outcome: TransferDelegate, @unchecked Sendable {
        // Unchecked: accessed only on the engine thread until the end was reported.
        var head: WireHead?
        var body: [UInt8] = []
        var end: TransferEnd?
        var transfer: Transfer?
        private var hasSent = false
        /// The streamed body.
        var streamed = Data("streamed".utf8)
        /// Whether the end of the streamed body is announced.
        var endsBody = true
        /// The closure that is called once, when the connection is ready.
        private var whenConnected: (@Sendable () -> Void)?
        private let whenEnded: @Sendable (Outcome) -> Void

        init(
            whenConnected: (@Sendable () -> Void)? = nil, whenEnded: @escaping @Sendable (Outcome) -> Void = { _ in }
        ) {
            (self.whenConnected, self.whenEnded) = (whenConnected, whenEnded)
        }

        var text: String { String(decoding: body, as: UTF8.self) }

        func transferIsConnected() {
            let body = whenConnected
            whenConnected = nil
            body?()
        }
        func transferDidReceiveInformational(_ head: WireHead) {}
        func transferDidReceiveHead(_ head: WireHead) { self.head = head }
        func transferDidReceiveBody(_ bytes: RawSpan) {
            unsafe bytes.withUnsafeBytes { unsafe body.append(contentsOf: $0) }
        }
        func transferNeedsBody() {
            guard !hasSent else { return }
            hasSent = true
            transfer?.send(streamed)
            if endsBody { transfer?.finishSending() }
        }
        func transferDidEnd(_ end: TransferEnd) {
            self.end = end
            transfer = nil
            whenEnded(self)
        }
    }

    let executor: EngineExecutor
    let engine: CurlEngine

    init(
        _ configuration: EngineConfiguration = EngineConfiguration(), clock: any EngineClock = MonotonicClock.system
    ) {
        executor = EngineExecutor(clock: clock)
        engine = CurlEngine(executor: executor, configuration: configuration)
    }

    /// Runs one transfer to its end.
    ///
    /// - Parameters:
    ///   - whenConnected: Called once, on the engine thread, when the connection is ready.
    ///   - streamed: The streamed body; `nil` for a short one.
    ///   - endsBody: Whether the end of the streamed body is announced.
    func perform(
        _ options: TransferOptions, whenConnected: (@Sendable () -> Void)? = nil, sending streamed: Data? = nil,
        endsBody: Bool = true
    ) async -> Outcome {
        await withContinuation { continuation in
            let outcome = Outcome(
                whenConnected: whenConnected, whenEnded: { continuation.resume(returning: $0) })
            if let streamed { outcome.streamed = streamed }
            outcome.endsBody = endsBody
            executor.submit { start(options, outcome) }
        }
    }

    /// Starts a transfer. Must be called on the engine thread.
    func start(_ options: TransferOptions, _ outcome: Outcome) {
        outcome.transfer = engine.start(options, delegate: outcome)
    }

    /// Runs `body` on the engine thread.
    func onEngine<Result: Sendable>(_ body: @escaping @Sendable () -> Result) async -> Result {
        await withContinuation { continuation in
            executor.submit { continuation.resume(returning: body()) }
        }
    }

    func finish() async { await executor.shutDown() }

    static func get(_ url: String, lines: HeaderLines? = nil, mayBeReplayed: Bool = true) throws -> TransferOptions {
        TransferOptions(
            url: try WireURL(parsing: url), method: "GET", headerLines: lines, version: .http1,
            mayBeReplayed: mayBeReplayed)
    }

    static func post(_ url: String, _ text: String) throws -> TransferOptions {
        TransferOptions(
            url: try WireURL(parsing: url), method: "POST", body: .bytes([UInt8](text.utf8)), version: .http1)
    }
}

extension CurlEngine {
    /// Creates a transfer and starts it.
    func start(_ options: TransferOptions, delegate: any TransferDelegate) -> Transfer {
        let transfer = makeTransfer(options)
        start(transfer, delegate: delegate)
        return transfer
    }
}
