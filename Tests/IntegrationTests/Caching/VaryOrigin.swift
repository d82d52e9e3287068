import CurlEngine
import Foundation
import HTTPTypes
import TrellisTesting

/// An origin that names other fields in `Vary` with each response, and whose bodies say which request they were made for.
final class VaryOrigin: Sendable {
    /// The fields that select a response, in lower case.
    static let names = ["x-a", "x-b", "x-c"]

    /// A response.
    struct Answer: Sendable {
        var status = 200
        var fields = HTTPFields()
        var body = Data()
    }

    private struct State {
        var generator: SeededGenerator
        var version = 0
    }

    private let state: Locked<State>

    init(seed: UInt64) { state = Locked(State(generator: SeededGenerator(seed: seed))) }

    /// Returns the text that identifies the request of a body.
    static func text(path: String, _ values: [String?]) -> String {
        path + ";" + zip(names, values).map { "\($0)=\($1 ?? "-")" }.joined(separator: ";")
    }

    /// Returns the response to a request.
    func answer(_ method: String, _ path: String, _ field: (String) -> String?) -> Answer {
        let text = Self.text(path: path, Self.names.map(field))
        var (answer, version) = state.withLock { state -> (Answer, Int) in
            if Int.random(in: 0..<6, using: &state.generator) == 0 { state.version += 1 }
            return (Self.head(&state.generator), state.version)
        }
        guard method == "GET" || method == "HEAD" else { return Answer(fields: [.cacheControl: "no-store"]) }
        let tag = "\"\(text);v=\(version)\""
        answer.fields[.eTag] = tag
        if field("if-none-match") == tag {
            answer.status = 304
        } else {
            answer.body = Data("\(text);v=\(version)\n".utf8) + Data(repeating: UInt8(version % 251), count: 3000)
        }
        if method == "HEAD" { answer.body = Data() }
        return answer
    }

    private static func head(_ generator: inout SeededGenerator) -> Answer {
        var answer = Answer()
        answer.status = [200, 200, 200, 200, 200, 404, 500][Int.random(in: 0..<7, using: &generator)]
        let directives = [
            "max-age=5", "max-age=5, stale-while-revalidate=20", "max-age=0", "no-cache",
            "max-age=2, stale-if-error=50",
            "max-age=50, immutable", "max-age=1, must-revalidate",
        ]
        answer.fields[.cacheControl] = directives[Int.random(in: 0..<directives.count, using: &generator)]
        let named = names.filter { _ in Bool.random(using: &generator) }
        let isAny = Int.random(in: 0..<12, using: &generator) == 0
        answer.fields[values: .vary] = named.map { Bool.random(using: &generator) ? $0 : $0.uppercased() }
        if isAny { answer.fields.append(HTTPField(name: .vary, value: "*")) }
        return answer
    }
}
