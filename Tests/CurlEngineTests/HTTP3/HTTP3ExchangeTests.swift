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
    private static func withExchanges(_ transfers: [Transfer], _ body: (HTTP3Group, [HTTP3Exchange]) -> Void) {
        guard let engine = transfers.first?.engine, let group = HTTP3Group(engine, watch: CallWatch()) else { return }
        withExtendedLifetime(group) {
            let exchanges = transfers.compactMap { transfer -> HTTP3Exchange? in
                guard let easy = unsafe EasyHandle(configuration: engine.configuration, share: nil) else { return nil }
                return HTTP3Exchange(transfer, at: [], in: group, easy)
            }
            body(group, exchanges)
        }
    }

    /// The server may refuse the rest of a request after the complete response (RFC 9114, section 4.1), in the same turn of the loop.
    @Test(arguments: [TransferOptions.Body.stream(length: nil), .bytes([1, 2, 3])], ["xx", "x"])
    func aRefusalOfTheRestIsNoFailureAfterTheWholeResponse(_ body: TransferOptions.Body, _ text: String) async throws {
        let run = EngineRun(), outcome = EngineRun.Outcome()
        let options = try Self.options(body)
        await run.onEngine {
            let transfer = run.engine.makeTransfer(options)
            transfer.delegate = outcome
            transfer.attempts = 1
            Self.withExchanges([transfer]) { _, exchanges in
                guard let exchange = exchanges.first else { return }
                transfer.connection.http3.exchange = exchange
                for line in ["HTTP/3 200 \r\n", "content-length: 2\r\n", "\r\n"] {
                    unsafe Array(line.utf8).withUnsafeBytes { _ = unsafe exchange.receiveHeader($0) }
                }
                unsafe Array(text.utf8).withUnsafeBytes { _ = unsafe exchange.receiveBody($0) }
                exchange.didEnd(CURLE_HTTP3)
                run.engine.applyChanges()
            }
        }
        let end = try #require(outcome.end)
        #expect(outcome.text == text && (end.failure == nil) == (text == "xx"))
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
            Self.withExchanges(transfers) { group, exchanges in
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
