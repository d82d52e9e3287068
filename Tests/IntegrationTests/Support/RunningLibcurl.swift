import CurlEngine
import Foundation
import Trellis

/// The libcurl of this process, according to its loaded libraries.
enum RunningLibcurl {
    /// Whether libcurl supports HTTP/3, whose implementations all need nghttp3 or quiche.
    static var hasHTTP3: Bool { loaded.contains { $0.contains("nghttp3") || $0.contains("quiche") } }

    /// The version of HTTP that a request without a demand has with a server that has HTTP/2 and TLS.
    static var usualVersion: HTTPVersion { EngineConfiguration.sharesConnections ? .http2 : .http1_1 }

    /// The path from which libcurl was loaded.
    static var path: String? { loaded.first { $0.split(separator: "/").last?.hasPrefix("libcurl") == true } }

    /// The paths of all loaded libraries.
    static let loaded: Set<String> = {
        // The file is read in pieces, because it has no size, and a read returns at most one page.
        guard let maps = FileHandle(forReadingAtPath: "/proc/self/maps") else { return [] }
        var bytes = Data()
        while let more = try? maps.read(upToCount: 4096), !more.isEmpty { bytes.append(more) }
        let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n")
        return Set(lines.compactMap { line in line.firstIndex(of: "/").map { String(line[$0...]) } })
    }()
}
