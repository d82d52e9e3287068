import CCurl
import Testing

@testable import CurlEngine

/// The ends of requests over HTTP/3, and the use of their connections. Nothing is sent.
@Suite(.timeLimit(.minutes(3)))
struct HTTP3ExchangeTests {
    private static func options(_ body: TransferOptions.Body = .none) throws -> TransferOptions {
        TransferOptions(
            url: try WireURL(parsing: "https://127.0.0.1:9/"), method: "POST", body: body, version: .http3Only)
    }

    /// Calls `body` with requests of one group.
    private static func withExchanges(
        _ transfers: [Transfer], _ configuration: EngineConfiguration,
        _ body: (HTTP3Group, [HTTP3Exchange]) -> Void
    ) {
        guard let engine = transfers.first?.engine, let group = HTTP3Group(engine, watch: CallWatch()) else { return }
        withExtendedLifetime(group) {
            let exchanges = transfers.compactMap { transfer -> HTTP3Exchange? in
                guard let easy = unsafe EasyHandle(configuration: configuration, share: nil) else { return nil }
                return HTTP3Exchange(transfer, at: [], in: group, easy)
            }
            body(group, exchanges)
        }
    }

    /// The server may refuse the rest of a request after the complete response (RFC 9114, section 4.1), in the same turn of the loop.
    @Test(arguments: [true, false])
    func aRefusalOfTheRestIsNoFailureAfterTheCompleteResponse(_ isComplete: Bool) async throws {
        let run = EngineRun(), outcome = EngineRun.Outcome()
        let options = try Self.options(.stream(length: nil))
        await run.onEngine {
            let transfer = run.engine.makeTransfer(options)
            transfer.delegate = outcome
            transfer.attempts = 1
            transfer.receiving.mustFinishEarly = isComplete
            Self.withExchanges([transfer], run.engine.configuration) { _, exchanges in
                transfer.connection.http3.exchange = exchanges.first
                exchanges.first?.didEnd(CURLE_HTTP3)
            }
        }
        let end = try #require(outcome.end)
        #expect((end.failure == nil) == isComplete)
        await run.finish()
    }

    private final class Observer: ConnectionObserver, ConnectionObservation {
        let changes = Locked<[Bool]>([])

        func begin(_ url: String) -> any ConnectionObservation { self }
        func change(isIdle: Bool) { changes.withLock { $0.append(isIdle) } }
        func end() {}
    }

    /// The request has not left its connection yet when libcurl closes that, and opens another one.
    @Test func aSocketWithTheNumberOfAClosedOneIsAnotherConnection() async throws {
        let observer = Observer()
        var configuration = EngineConfiguration()
        configuration.connectionObserver = observer
        let run = EngineRun(configuration), options = try Self.options()
        await run.onEngine {
            let transfers = [run.engine.makeTransfer(options), run.engine.makeTransfer(options)]
            Self.withExchanges(transfers, run.engine.configuration) { group, exchanges in
                // No such descriptor is open.
                let socket: Int32 = 1_000_000
                for exchange in exchanges {
                    group.didOpen(socket, for: exchange)
                    group.begin(exchange, on: socket, isNew: true)
                }
                // The first request goes on somewhere else.
                if let first = exchanges.first { group.begin(first, on: -1, isNew: false) }
            }
        }
        #expect(observer.changes.withLock { $0 } == [false, false])
        await run.finish()
    }
}
