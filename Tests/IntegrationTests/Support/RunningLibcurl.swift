import Foundation

/// The libcurl of this process, as far as its loaded libraries tell.
enum RunningLibcurl {
    /// A Boolean value: libcurl supports HTTP/3, whose implementations all need nghttp3 or quiche.
    static var hasHTTP3: Bool { loaded.contains { $0.contains("nghttp3") || $0.contains("quiche") } }

    /// The path that libcurl was loaded from.
    static var path: String? { loaded.first { $0.split(separator: "/").last?.hasPrefix("libcurl") == true } }

    /// The paths of all loaded libraries.
    private static let loaded: Set<String> = {
        // The file is read piece by piece: it has no size, and gives no more than a page at once.
        guard let maps = FileHandle(forReadingAtPath: "/proc/self/maps") else { return [] }
        var bytes = Data()
        while let more = try? maps.read(upToCount: 4096), !more.isEmpty { bytes.append(more) }
        let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n")
        return Set(lines.compactMap { line in line.firstIndex(of: "/").map { String(line[$0...]) } })
    }()
}
