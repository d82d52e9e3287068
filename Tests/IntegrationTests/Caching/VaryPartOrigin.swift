import CurlEngine
import Foundation
import HTTPTypes
import Trellis
import TrellisTesting

/// An origin that sends parts of representations, and names other fields in `Vary` with each response. The strong entity tag of a
/// representation says which request it was made for, and determines all of its bytes.
final class VaryPartOrigin: Sendable {
    /// The number of bytes of each representation.
    static let length = 3000

    private struct State {
        var generator: SeededGenerator
        var version = 0
    }

    private let state: Locked<State>
    private let isShared: Bool

    /// - Parameter isShared: Whether the directives are those for a cache of many users.
    init(seed: UInt64, isShared: Bool) {
        state = Locked(State(generator: SeededGenerator(seed: seed)))
        self.isShared = isShared
    }

    /// Returns the representation with a tag: numbered lines, so that a byte at another place is found.
    static func body(_ tag: String) -> Data {
        let end = Array(" \(tag)\n".utf8)
        var bytes: [UInt8] = []
        var number = 0
        while bytes.count < length {
            bytes += Array("\(number)".utf8)
            bytes += end
            number += 1
        }
        return Data(bytes.prefix(length))
    }

    /// Returns the first and the last byte of a range that a request asks for; `nil` without a range.
    static func range(_ field: String?) -> ClosedRange<Int>? {
        guard let parts = field?.dropFirst("bytes=".count).split(separator: "-", omittingEmptySubsequences: false),
            parts.count == 2
        else { return nil }
        if parts[0].isEmpty { return Int(parts[1]).map { length - $0...length - 1 } }
        return Int(parts[0]).map { $0...min(Int(parts[1]) ?? length, length - 1) }
    }

    func response(_ request: TransportRequest) -> MockResponse {
        let (fields, version) = state.withLock { state -> (HTTPFields, Int) in
            if Int.random(in: 0..<25, using: &state.generator) == 0 { state.version += 1 }
            return (head(&state.generator), state.version)
        }
        let method = request.request.method
        guard method == .get || method == .head else { return MockResponse(headers: [.cacheControl: "no-store"]) }
        let values = VaryOrigin.names.map { request[$0] }
        let tag = "\"\(VaryOrigin.text(path: request.path, values));v=\(version)\""
        var answer = fields
        answer[.eTag] = tag
        if request.headers[.ifNoneMatch] == tag { return MockResponse(status: 304, headers: answer) }
        let whole = Self.body(tag)
        let condition = request.headers[.ifRange]
        guard let range = Self.range(request.headers[.range]), condition == nil || condition == tag else {
            return MockResponse(headers: answer, body: method == .head ? Data() : whole)
        }
        guard method == .get else { return MockResponse(headers: answer) }
        answer[.contentRange] = "bytes \(range.lowerBound)-\(range.upperBound)/\(Self.length)"
        return MockResponse(status: 206, headers: answer, body: Data(whole[range]))
    }

    private func head(_ generator: inout SeededGenerator) -> HTTPFields {
        let prefix = isShared ? "s-maxage" : "max-age"
        let directives = [
            "\(prefix)=5", "\(prefix)=50", "\(prefix)=5, stale-while-revalidate=20", "\(prefix)=0", "no-cache",
            "max-age=2, must-revalidate", "private, max-age=5",
        ]
        var fields: HTTPFields = [
            .cacheControl: directives[Int.random(in: 0..<directives.count, using: &generator)]
        ]
        fields[values: .vary] = VaryOrigin.names.filter { _ in Int.random(in: 0..<3, using: &generator) == 0 }
        return fields
    }
}
