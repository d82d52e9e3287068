import Foundation
import Trellis

struct Item: Codable, Sendable, Equatable { var name: String }

/// A program of AsyncHTTPClient, moved section by section.
struct Shop: Sendable {
    let session: Session
    let base: String

    // HTTPClient.Configuration, with dnsOverride and trustRoots
    init(base: String, authority: String, addresses: String) throws {
        var configuration = SessionConfiguration()
        configuration.timeouts = Timeouts(connect: .seconds(60), idle: .seconds(60))
        configuration.limits.perOrigin = 4
        configuration.redirects = RedirectPolicy(maximumRedirects: 3)
        configuration.maximumBodySize = .bytes(1 << 20)
        configuration.tls.authorities = .systemAnd([.file(authority)])
        configuration.route.addresses = try StaticAddresses(addresses)
        configuration.engines = .fixed(2)
        session = Session(configuration: configuration)
        self.base = base
    }

    // execute, collect(upTo:), JSONDecoder
    func item() async throws -> Item {
        try await session.decode(Item.self, from: "\(base)/item", timeout: .seconds(60))
    }

    // status, version and headers of a response
    func summary(of path: String) async throws -> String {
        let (body, response) = try await session.data("\(base)\(path)", headers: ["X-Trace": "1"])
        return "\(response.status.code) \(response.version) \(response.headers[.contentType] ?? "-") \(body.count)"
    }

    // a POST with setBasicAuth
    func add(_ item: Item) async throws -> Item {
        let request = try Request("\(base)/items", method: .post, headers: ["X-Trace": "2"], body: .json(item))
            .withAuthorization(username: "ada", password: "pass")
        return try await session.decode(Item.self, from: request)
    }

    // body = .stream(…, length: .unknown)
    func send(_ lines: [String]) async throws -> String {
        let chunks = AsyncStream<Data> { continuation in
            for line in lines { continuation.yield(Data("\(line)\n".utf8)) }
            continuation.finish()
        }
        return try await session.string(Request("\(base)/lines", method: .post, body: .stream(chunks)))
    }

    // a body that is read as it comes
    func count(_ path: String) async throws -> Int {
        try await session.withResponse(to: "\(base)\(path)") { _, body in
            var count = 0
            for try await chunk in body.chunks { count += chunk.count }
            return count
        }
    }

    // FileDownloadDelegate
    func save(_ path: String, to file: String) async throws -> Int64 {
        Int64(try await session.download("\(base)\(path)", to: .file(file, .removePreviousFile)).size)
    }

    // HTTPClientError
    func failure(of url: String, timeout: Duration? = nil) async throws -> TrellisError.Kind? {
        do {
            _ = try await session.data(url, timeout: timeout ?? .seconds(60))
            return nil
        } catch let error as TrellisError {
            return error.kind
        }
    }

    // ten requests at once
    func items(_ count: Int) async throws -> [Item] {
        try await session.map(0..<count, concurrency: count) { _, _ in try await item() }
    }

    // shutdown
    func end() async { await session.shutdown(drainingFor: .seconds(60)) }
}
