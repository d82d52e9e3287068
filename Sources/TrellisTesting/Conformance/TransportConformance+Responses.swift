import FoundationEssentials
import HTTPTypes
import TrellisCore

extension TransportConformance {
    private static func field(_ name: String) -> HTTPField.Name { HTTPField.Name(name) ?? .server }

    /// The cases about responses, which must arrive as they were sent.
    static var responseCases: [Case] {
        [
            Case(name: "hands on status, fields in order, repeated fields and body") { _ in
                var fields = HTTPFields()
                fields.append(HTTPField(name: field("X-First"), value: "1"))
                fields.append(HTTPField(name: .setCookie, value: "a=1"))
                fields.append(HTTPField(name: .setCookie, value: "b=2"))
                return [.head(201, fields), .text("hello"), .end]
            } check: { host in
                let (data, response) = try await host.session.data(host.url("/"))
                try expect("status", response.status.code, equals: 201)
                try expect("cookies", response.headers[values: .setCookie], equals: ["a=1", "b=2"])
                let names = response.headers.map(\.name.canonicalName).filter {
                    $0 == "x-first" || $0 == "set-cookie"
                }
                try expect("order", names, equals: ["x-first", "set-cookie", "set-cookie"])
                try expect("body", data, equals: Data("hello".utf8))
            },
            Case(name: "hands on a response without a body") { _ in
                [.head(204, [:]), .end]
            } check: { host in
                let (data, response) = try await host.session.data(host.url("/"))
                try expect("status", response.status.code, equals: 204)
                try expect("bytes", data.count, equals: 0)
            },
            Case(name: "hands on any status as an answer") { request in
                [.head(Int(request.target.dropFirst()) ?? 0, [:]), .end]
            } check: { host in
                for status in [200, 299, 304, 404, 418, 500, 599] {
                    let (_, response) = try await host.session.data(host.url("/\(status)"))
                    try expect("status", response.status.code, equals: status)
                }
            },
            Case(name: "hands on a status that belongs to no class") { _ in
                [.head(999, [:]), .end]
            } check: { host in
                let (data, response) = try await host.session.data(host.url("/"))
                try expect("status", response.status.code, equals: 999)
                try expect("bytes", data.count, equals: 0)
            },
            Case(name: "hands on an empty response to every method") { _ in
                [.head(200, [:]), .end]
            } check: { host in
                for method in [HTTPRequest.Method.head, .get, .put, .post, .delete] {
                    let (data, response) = try await host.session.data(Request(host.url("/"), method: method))
                    try expect("status of \(method)", response.status.code, equals: 200)
                    try expect("bytes of \(method)", data.count, equals: 0)
                    try expect("trailers of \(method)", response.trailers, equals: [:])
                }
            },
            Case(name: "expects no body after a head with a length if the method is HEAD") { request in
                request.method == "HEAD" ? [.head(200, [.contentLength: "1000"]), .end] : [.head(204, [:]), .end]
            } check: { host in
                let (data, response) = try await host.session.data(Request(host.url("/"), method: .head))
                try expect("status", response.status.code, equals: 200)
                try expect("length", response.headers[.contentLength], equals: "1000")
                try expect("bytes", data.count, equals: 0)
                try expect("next status", try await host.session.data(host.url("/")).1.status.code, equals: 204)
            },
            Case(name: "hands on informational heads before the final one") { _ in
                [
                    .informational(103, [field("Link"): "</a>"]), .informational(103, [field("Link"): "</b>"]),
                    .head(200, [:]), .text("x"),
                    .end,
                ]
            } check: { host in
                let (_, response) = try await host.session.data(host.url("/"))
                try expect("statuses", response.informational.map(\.status.code), equals: [103, 103])
                try expect("links", response.informational.map { $0.headers[field("Link")] }, equals: ["</a>", "</b>"])
                try expect("status", response.status.code, equals: 200)
            },
            Case(name: "hands on the fields after the body") { _ in
                [.head(200, [.trailer: "X-Sum"]), .text("x"), .end(trailers: [field("X-Sum"): "42"])]
            } check: { host in
                let (_, response) = try await host.session.data(host.url("/"))
                try expect("trailer", response.trailers[field("X-Sum")], equals: "42")
                try expect("field", response.headers[field("X-Sum")], equals: nil)
            },
            headBeforeBody(LoopbackServer.Gate()),
            Case(name: "hands on the chunks of a body in their order") { _ in
                [.head(200, [:])] + (0..<200).map { .text("\($0)\n") } + [.end]
            } check: { host in
                var lines: [String] = []
                for try await line in try await host.session.stream(host.url("/")).lines { lines.append(line) }
                try expect("lines", lines, equals: (0..<200).map { "\($0)" })
            },
        ]
    }

    private static func headBeforeBody(_ gate: LoopbackServer.Gate) -> Case {
        Case(name: "hands on the head before the body has come") { _ in
            [.head(200, [:]), .wait(gate), .text("late"), .end]
        } check: { host in
            let response = try await host.session.stream(host.url("/"))
            try expect("status", response.response.status.code, equals: 200)
            gate.open()
            try expect("body", try await response.chunks.collect(upTo: 100), equals: Data("late".utf8))
        }
    }
}
