import CurlEngine
import FoundationEssentials
import HTTPTypes
import TrellisCore

extension TransportConformance {
    /// The cases about requests, which must arrive as they were made: the server sends back the request that it received.
    static var requestCases: [Case] {
        [
            Case(name: "sends method, target and fields") { request in
                let fields = request.fields.filter { $0.name.lowercasedASCII().hasBytePrefix("x-") }
                    .map { "\($0.name.lowercasedASCII())=\($0.value)" }
                return [
                    .head(200, [:]), .text(([request.method, request.target] + fields).joined(separator: " ")), .end,
                ]
            } check: { host in
                guard let name = HTTPField.Name("X-Many"), let method = HTTPRequest.Method("PURGE") else { return }
                var request = Request(host.url("/a%20b?c=d&c=e"), method: method)
                request.headers.append(HTTPField(name: name, value: "1"))
                request.headers.append(HTTPField(name: name, value: "2"))
                let (data, _) = try await host.session.data(request)
                try expect(
                    "request", String(decoding: data, as: UTF8.self), equals: "PURGE /a%20b?c=d&c=e x-many=1 x-many=2")
            },
            Case(name: "sends a field with an empty value") { request in
                [.head(200, [:]), .text(request["X-Empty"].map { "<\($0)>" } ?? "none"), .end]
            } check: { host in
                guard let name = HTTPField.Name("X-Empty") else { return }
                let (data, _) = try await host.session.data(Request(host.url("/")).withHeader(name, ""))
                try expect("value", String(decoding: data, as: UTF8.self), equals: "<>")
            },
            Case(name: "sends query items in order, repeated and empty ones too") { request in
                [.head(200, [:]), .text(request.target), .end]
            } check: { host in
                var components = URLComponents(string: host.url("/items"))
                components?.queryItems = [("a", "1"), ("b", "2"), ("c", ""), ("a", "3 4")].map {
                    URLQueryItem(name: $0.0, value: $0.1)
                }
                guard let url = components?.url else { throw Failure(description: "the URL has no components") }
                let (data, _) = try await host.session.data(url)
                try expect("target", String(decoding: data, as: UTF8.self), equals: "/items?a=1&b=2&c=&a=3%204")
            },
            Case(name: "sends a GET without a body if only a URL is given", script: summary) { host in
                let (data, _) = try await host.session.data(host.url("/"))
                try expect("request", String(decoding: data, as: UTF8.self), equals: "GET with 0 bytes")
            },
            Case(name: "sends a POST if only a URL and a body are given", script: summary) { host in
                let (data, _) = try await host.session.upload(Data("hello".utf8), to: host.url("/"))
                try expect("request", String(decoding: data, as: UTF8.self), equals: "POST with 5 bytes")
            },
            Case(name: "sends bodies in memory whole", script: echo) { host in
                for count in [0, 1, 1000, 64 << 10, 300 << 10] {
                    let body = Data((0..<count).map { UInt8(truncatingIfNeeded: $0 &* 7) })
                    let (data, _) = try await host.session.upload(body, to: host.url("/"))
                    try expect("echo of \(count) bytes", data, equals: body)
                }
            },
            Case(name: "sends streamed bodies whole and in order, with and without a length", script: echo) { host in
                let chunks = (0..<100).map { Data(repeating: UInt8($0), count: 1000 + $0) }
                let whole = chunks.reduce(Data(), +)
                for length in [nil, Int64(whole.count)] {
                    let (data, _) = try await host.session.upload(stream(chunks), length: length, to: host.url("/"))
                    try expect("echo of a stream", data, equals: whole)
                }
            },
            Case(name: "sends a stream of a megabyte in one chunk whole", script: echo) { host in
                let body = Data(repeating: UInt8(ascii: "A"), count: 1_000_000)
                let (data, _) = try await host.session.upload(stream([body]), length: 1_000_000, to: host.url("/"))
                try expect("echo of a megabyte", data == body, equals: true)
            },
            Case(name: "sends a stream without bytes as an empty body", script: echo) { host in
                for (chunks, length) in [([], nil), ([], 0), ([Data()], nil), ([Data()], 0)] as [([Data], Int64?)] {
                    let (data, response) = try await host.session.upload(
                        stream(chunks), length: length, to: host.url("/"))
                    try expect("status", response.status, equals: .ok)
                    try expect("echo of nothing", data, equals: Data())
                }
            },
            Case(name: "sends the fields behind a request's body", needs: .requestTrailers) { request in
                let trailers = request.trailers.map { "\($0.name.lowercasedASCII())=\($0.value)" }
                return [.head(200, [:]), .body(request.body + Data(" \(trailers)".utf8)), .end]
            } check: { host in
                guard let name = HTTPField.Name("X-Sum") else { return }
                let request = Request(host.url("/"), method: .post, body: .stream(stream([Data("text".utf8)])))
                let (data, _) = try await host.session.data(request.withTrailers { [name: "42"] })
                try expect("body and trailers", String(decoding: data, as: UTF8.self), equals: "text [\"x-sum=42\"]")
            },
            Case(name: "answers many requests at once, each with its own answer") { request in
                [.head(200, [:]), .text(request.target), .end]
            } check: { host in
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for number in 0..<100 {
                        group.addTask {
                            let (data, _) = try await host.session.data(host.url("/\(number)"))
                            try expect("answer", String(decoding: data, as: UTF8.self), equals: "/\(number)")
                        }
                    }
                    try await group.waitForAll()
                }
            },
        ]
    }

    private static let echo: Script = { request in [.head(200, [:]), .body(request.body), .end] }

    private static let summary: Script = { request in
        [.head(200, [:]), .text("\(request.method) with \(request.body.count) bytes"), .end]
    }

    static func stream(_ chunks: [Data]) -> AsyncStream<Data> {
        AsyncStream { continuation in
            for chunk in chunks { continuation.yield(chunk) }
            continuation.finish()
        }
    }
}
