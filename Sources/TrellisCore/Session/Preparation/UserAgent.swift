private import CurlEngine
private import FoundationEssentials

/// Values for the `User-Agent` field (RFC 9110, section 10.1.5).
public enum UserAgent {
    /// The default value, `app Trellis/0.2.0`, with the name of the executable as the app. An executable has no version of its own: pass
    /// the version to ``naming(_:version:)``.
    ///
    /// The versions of libcurl and of the system are left out, because details identify a client (RFC 9110, section 10.1.5).
    public static let `default` = naming(executable, version: nil)

    /// Returns a value that names an app, such as `app/2.1 Trellis/0.2.0`:
    ///
    /// ```swift
    /// configuration.userAgent = UserAgent.naming("backup", version: "2.1")
    /// ```
    ///
    /// - Parameters:
    ///   - app: The name of the app. Characters that are not allowed in a product token (RFC 9110, section 5.6.2) are left out.
    ///   - version: The version of the app; the same characters are left out.
    public static func naming(_ app: String, version: String? = nil) -> String {
        let (app, version) = (token(app), token(version ?? ""))
        let product = app.isEmpty ? "" : version.isEmpty ? "\(app) " : "\(app)/\(version) "
        return "\(product)Trellis/\(TrellisRuntime.version)"
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
}

/// Information about the framework and the libcurl that it runs on.
public enum TrellisRuntime {
    /// The version of the framework.
    public static let version = "0.2.0"

    /// The version of the running libcurl.
    public static var libcurlVersion: String { LibcurlFeatures.current.version }

    /// Whether the running libcurl supports HTTP/3.
    public static var supportsHTTP3: Bool { LibcurlFeatures.current.hasHTTP3 }

    /// The content codings that are asked for and decoded: those whose libraries are loaded by libcurl or available on the system.
    public static var contentCodings: [String] { ContentCoding.accepted }
}
