import ClientKit
import Foundation
import FoundationNetworking

/// The client of Foundation's URLSession, which cannot trust a custom certificate authority on Linux.
struct URLSessionClient: Client {
    private let session: URLSession

    init(_ work: Work) throws {
        guard work.certificateAuthorityFile == nil else {
            throw UnexpectedAnswer("URLSession on Linux cannot be told which certificate authority to trust")
        }
        let configuration = URLSessionConfiguration.ephemeral
        configuration.httpMaximumConnectionsPerHost = work.concurrency
        configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
        configuration.urlCache = nil
        configuration.httpCookieStorage = nil
        configuration.timeoutIntervalForRequest = 120
        session = URLSession(configuration: configuration)
    }

    func get(_ url: String) async throws -> Int {
        try await answer(to: request(url)).body.count
    }

    func getReadingHeaders(_ url: String) async throws -> Int {
        let headers = try await answer(to: request(url)).response.allHeaderFields
        return headers.reduce(0) { sum, field in
            guard let name = field.key as? String, let value = field.value as? String else { return sum }
            return sum + name.utf8.count + value.utf8.count
        }
    }

    func post(_ json: Data, to url: String) async throws -> Data {
        var request = try request(url)
        request.httpMethod = "POST"
        request.setValue("application/json", forHTTPHeaderField: "Content-Type")
        request.setValue("application/json", forHTTPHeaderField: "Accept")
        request.httpBody = json
        return try await answer(to: request).body
    }

    func download(_ url: String, into sink: inout ByteSink) async throws {
        sink = try await StreamingDownload(into: sink).run(request(url))
    }

    func upload(file: String, to url: String) async throws -> Int {
        var request = try request(url)
        request.httpMethod = "POST"
        let (body, response) = try await session.upload(for: request, fromFile: URL(fileURLWithPath: file))
        _ = try checked(response)
        return Int(String(decoding: body.dropLast(), as: UTF8.self)) ?? 0
    }

    func shutdown() async {
        session.invalidateAndCancel()
    }

    private func request(_ url: String) throws -> URLRequest {
        guard let url = URL(string: url) else { throw UnexpectedAnswer("not a URL: \(url)") }
        return URLRequest(url: url)
    }

    private func answer(to request: URLRequest) async throws -> (body: Data, response: HTTPURLResponse) {
        let (body, response) = try await session.data(for: request)
        return (body, try checked(response))
    }

    private func checked(_ response: URLResponse) throws -> HTTPURLResponse {
        guard let response = response as? HTTPURLResponse, response.statusCode == 200 else {
            throw UnexpectedAnswer("\(response)")
        }
        return response
    }
}
