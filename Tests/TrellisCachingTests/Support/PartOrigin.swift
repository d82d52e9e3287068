import CurlEngine
import Foundation
import HTTPTypes
import TestSupport
import TrellisTesting

@testable import TrellisCaching
@testable import TrellisCore

/// A server with one representation, which answers requests for its parts.
final class PartOrigin: Sendable {
    private struct State {
        var text: String
        var tag = "\"1\""
    }

    private let state: Locked<State>

    init(_ text: String = "0123456789") { state = Locked(State(text: text)) }

    func replace(_ text: String, _ tag: String) { state.withLock { ($0.text, $0.tag) = (text, tag) } }

    func response(to request: TransportRequest, _ more: HTTPFields = [:]) -> MockResponse {
        let state = state.withLock { $0 }
        let fields: HTTPFields = [.cacheControl: "max-age=60", .eTag: state.tag] + more
        let length = Int64(state.text.utf8.count)
        let isSame = request.headers[.ifRange].map { $0 == state.tag } ?? true
        guard isSame, let bytes = RequestedRange(request.headers)?.bytes(of: length) else {
            return CacheWorld.response(state.text, fields)
        }
        return Self.part(of: state.text, bytes, fields)
    }

    static func part(of text: String, _ bytes: Range<Int64>, _ fields: HTTPFields) -> MockResponse {
        let part = Data(text.utf8.dropFirst(Int(bytes.lowerBound)).prefix(bytes.count))
        let range = "bytes \(bytes.lowerBound)-\(bytes.upperBound - 1)/\(text.utf8.count)"
        return MockResponse(status: 206, headers: fields + [.contentRange: range], body: part)
    }
}

extension CacheWorld {
    /// Returns a request for a part; for the complete representation with `nil`.
    static func request(_ range: String?) -> Request {
        var request = Request(url)
        request.headers[.range] = range
        return request
    }

    /// Returns the text, the status and the cache status of a response, whose body is read as a stream or at once.
    func get(_ range: String?, isStream: Bool) async throws -> (String, Response) {
        guard isStream else {
            let (data, response) = try await session.data(Self.request(range))
            return (String(decoding: data, as: UTF8.self), response)
        }
        let stream = try await session.stream(Self.request(range))
        let data = try await stream.chunks.reduce(into: Data()) { $0.append($1) }
        return (String(decoding: data, as: UTF8.self), try await stream.finalResponse())
    }
}
