import FoundationEssentials
import HTTPTypes
import TrellisCore

extension TransportConformance {
    /// The cases about responses whose bytes are not as they should be (RFC 9112).
    static var wireCases: [Case] {
        [
            raw("refuses a response that is not HTTP", "FOOBAR") { host in
                try await expect(.malformedResponse) { _ = try await host.session.data(host.url("/")) }
            },
            raw("refuses a status line whose protocol is in another case", "Http/1.1 200 OK\nConnection: close\n\n") {
                host in
                try await expect(.malformedResponse) { _ = try await host.session.data(host.url("/")) }
            },
            raw("accepts a status line without a reason phrase", "HTTP/1.1 200\nConnection: close\n\n") { host in
                try expect("status", try await host.session.data(host.url("/")).1.status.code, equals: 200)
            },
            withoutBody(204),
            withoutBody(304),
            raw("reports a body that is shorter than its length", "HTTP/1.1 200 OK\nContent-Length: 1000\n\n1234") {
                host in
                let response = try await host.session.stream(host.url("/"))
                try expect("status", response.response.status.code, equals: 200)
                try await expect(.truncatedBody) { for try await _ in response.chunks {} }
            },
            raw("reads a body without a length to the end of the connection", "HTTP/1.1 200 OK\n\n1234") { host in
                let (data, response) = try await host.session.data(host.url("/"))
                try expect("status", response.status.code, equals: 200)
                try expect("body", String(decoding: data, as: UTF8.self), equals: "1234")
            },
            raw("refuses a list of different lengths", "HTTP/1.1 200 OK\nContent-Length: 10, 4\n\n1234") { host in
                try await expect(.malformedResponse) { _ = try await host.session.data(host.url("/")) }
            },
            raw(
                "refuses two fields with different lengths",
                "HTTP/1.1 200 OK\nContent-Length: 10\nContent-Length: 4\n\n1234"
            ) { host in
                try await expect(.malformedResponse) { _ = try await host.session.data(host.url("/")) }
            },
        ]
    }

    /// Returns a case whose responses are all this text.
    private static func raw(
        _ name: String, _ text: String, check: @escaping @Sendable (any RunningHost) async throws -> Void
    ) -> Case {
        Case(name: name, needs: .wire, script: { _ in [.raw(text)] }, check: check)
    }

    /// Returns the case about a status whose responses have no body, whatever their length (RFC 9112, section 6.3). The server leaves
    /// the connection open, so that a client that waits for the body waits without end.
    private static func withoutBody(_ status: Int) -> Case {
        Case(name: "expects no body after a \(status) with a length", needs: .wire) { _ in
            [.raw("HTTP/1.1 \(status) Status\nContent-Length: 1000\n\n"), .hold]
        } check: { host in
            let (data, response) = try await host.session.data(host.url("/"))
            try expect("status", response.status.code, equals: status)
            try expect("bytes", data.count, equals: 0)
        }
    }
}
