import FoundationEssentials
import TrellisCore

extension TransportConformance {
    /// The cases about bodies that are sent while a response is received, each side waiting for the other's last byte.
    static var twoWayCases: [Case] {
        [
            Case(name: "receives an echo of each byte before it sends the next one", needs: .twoWay) { _ in
                [.head(200, [:])] + Array(repeating: [.receive(byte), .body(byte)], count: rounds).joined()
                    + [.receiveEnd, .end]
            } check: { host in
                let (chunks, source) = AsyncStream.makeStream(of: Data.self)
                source.yield(byte)
                let count = try await read(host, sending: chunks) { count in
                    if count < rounds { source.yield(byte) } else { source.finish() }
                }
                try expect("echoes", count, equals: rounds)
            }.configured(impatient),
            Case(name: "sends an echo of each byte, until the response ends first", needs: .twoWay) { _ in
                [.head(200, [:])] + Array(repeating: [.body(byte), .receive(byte)], count: rounds).joined() + [.end]
            } check: { host in
                let (chunks, source) = AsyncStream.makeStream(of: Data.self)
                let count = try await read(host, sending: chunks) { _ in source.yield(byte) }
                source.finish()
                try expect("bytes", count, equals: rounds)
            }.configured(impatient),
        ]
    }

    private static let rounds = 1000

    /// Shortens the limit on idle time, so that a server that breaks the connection ends a case: a transport may not notice the end of the
    /// connection while the request's body pauses.
    private static let impatient: @Sendable (inout SessionConfiguration) -> Void = {
        $0.timeouts.idle = .seconds(10)
    }

    private static let byte = Data("A".utf8)

    /// Sends a body and reads a response of single bytes. Returns the number of bytes.
    private static func read(
        _ host: any RunningHost, sending chunks: AsyncStream<Data>, _ handle: (_ count: Int) -> Void
    ) async throws -> Int {
        let request = Request(host.url("/"), method: .post, body: .stream(chunks))
        return try await host.session.withResponse(to: request) { response, body in
            try expect("status", response.status.code, equals: 200)
            var count = 0
            for try await chunk in body {
                try expect("chunk", chunk, equals: byte)
                count += 1
                handle(count)
            }
            return count
        }
    }
}
