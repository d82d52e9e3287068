import Testing
import TrellisCore
import TrellisEvents
import TrellisTesting

/// An event source over real connections.
@Suite(.timeLimit(.minutes(3)))
struct EventSourceWireTests {
    /// A reconnection without a delay.
    static var atOnce: ReconnectionPolicy {
        var reconnection = ReconnectionPolicy()
        (reconnection.initialDelay, reconnection.minimumDelay, reconnection.maximumBackoff) = (.zero, .zero, .zero)
        return reconnection
    }

    @Test func itGoesOnOverStreamsThatEndAndConnectionsThatBreak() async throws {
        let server = try LoopbackServer.http { request in
            let head = [(name: "Content-Type", value: "text/event-stream")]
            switch request["Last-Event-ID"] {
            case nil:
                // The body is cut within an event, and within a code point.
                return .init(
                    headers: head,
                    body: .chunked { body in
                        for byte in Array("\u{FEFF}data: grün\r\nid: 1\r\n\r\ndata: cut".utf8) {
                            try body.write([byte])
                        }
                    })
            case "1":
                return .init(
                    body: .raw { connection in
                        try connection.write(
                            "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 1000\r\n\r\n")
                        try connection.write("id: 2\ndata: blå\n\nid: 3\ndata: lost")
                    })
            default: return .init(204)
            }
        }
        var events: [ServerSentEvent] = []
        for try await event in Session().eventSource(server.url(), reconnecting: Self.atOnce) {
            events.append(event)
        }
        #expect(events == [ServerSentEvent(data: "grün", id: "1"), ServerSentEvent(data: "blå", id: "2")])
        #expect(server.requests.map { $0["Last-Event-ID"] } == [nil, "1", "2"])
        #expect(server.requests.allSatisfy { $0["Accept"] == "text/event-stream" })
    }

    @Test func leavingItClosesTheConnection() async throws {
        let server = try LoopbackServer.http { _ in
            .init(
                headers: [(name: "Content-Type", value: "text/event-stream")],
                body: .chunked { body in
                    while true { try body.write("data: \(String(repeating: "x", count: 1000))\n\n") }
                })
        }
        for try await _ in Session().eventSource(server.url()) { break }
        try await server.waitUntilClosed(count: 1)
        #expect(server.requests.count == 1)
    }
}
