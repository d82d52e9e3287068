private import CurlEngine
private import FoundationEssentials

/// Values for the `User-Agent` field (RFC 9110, section 10.1.5).
public enum UserAgent {
    /// `app Trellis/0.1.0 libcurl/7.88.1 (Linux)`, the app by the name of its executable. An executable knows no version of
    /// itself: give it with ``naming(_:version:)``.
    public static let `default` = naming(executable, version: nil)

    /// `app/2.1 Trellis/0.1.0 libcurl/7.88.1 (Linux)`:
    ///
    /// ```swift
    /// configuration.userAgent = UserAgent.naming("backup", version: "2.1")
    /// ```
    ///
    /// - Parameters:
    ///   - app: The name of the app. Characters that no product token may hold (RFC 9110, section 5.6.2) are left out.
    ///   - version: Its version, the same.
    public static func naming(_ app: String, version: String? = nil) -> String {
        let (app, version) = (token(app), token(version ?? ""))
        let product = app.isEmpty ? "" : version.isEmpty ? "\(app) " : "\(app)/\(version) "
        return "\(product)Trellis/\(TrellisRuntime.version) libcurl/\(LibcurlFeatures.current.version) (\(platform))"
    }

    private static var executable: String {
        CommandLine.arguments.first.map { String($0.lastPathComponent) } ?? ""
    }

    private static func token(_ text: String) -> String {
        let marks = "!#$%&'*+-.^_`|~".utf8
        let bytes = text.utf8.filter {
            (0x61...0x7a).contains($0 | 0x20) || (0x30...0x39).contains($0) || marks.contains($0)
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    #if os(Linux)
    private static let platform = "Linux"
    #else
    private static let platform = "Unix"
    #endif
}

/// The framework itself.
public enum TrellisRuntime {
    /// The version of the framework.
    public static let version = "0.1.0"

    /// The version of the libcurl that runs.
    public static var libcurlVersion: String { LibcurlFeatures.current.version }

    /// Whether the libcurl that runs has HTTP/3.
    public static var supportsHTTP3: Bool { LibcurlFeatures.current.hasHTTP3 }

    /// The content codings that bodies are asked for in and decoded from: those whose libraries libcurl has loaded, or the
    /// system has.
    public static var contentCodings: [String] { ContentCoding.accepted }
}
