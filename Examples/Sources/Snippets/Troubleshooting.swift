import Foundation
import Trellis

/// The code of the page about troubleshooting.
enum TroubleshootingPage {
    static func configure(_ configuration: inout SessionConfiguration) {
        configuration.eventMonitors = [RequestLog(.verbose)]
        configuration.limits.perOrigin = 128  // 64 unless set
    }

    static func readToken() throws -> String {
        let text = try String(contentsOfFile: "token.txt", encoding: .utf8)
        let token = text.trimmingCharacters(in: .whitespacesAndNewlines)
        return token
    }

    static func makeBody(_ makeChunks: @escaping @Sendable () -> AsyncStream<Data>) -> RequestBody {
        let body = RequestBody.stream { makeChunks() }
        return body
    }
}
