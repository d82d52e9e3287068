private import CurlEngine
private import FoundationEssentials

/// The default `User-Agent`.
enum UserAgent {
    /// `app Trellis/0.1.0 libcurl/7.88.1 (Linux)`, the app by the name of its executable.
    static let `default`: String = {
        let path = CommandLine.arguments.first ?? ""
        let name = path.split(separator: "/").last.map(String.init) ?? ""
        let token = String(
            name.unicodeScalars.filter {
                $0.isASCII && ($0.properties.isAlphabetic || "-_.0123456789".unicodeScalars.contains($0))
            })
        let app = token.isEmpty ? "" : token + " "
        return "\(app)Trellis/\(TrellisRuntime.version) libcurl/\(LibcurlFeatures.current.version) (\(platform))"
    }()

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

    /// The content codings that the libcurl that runs decodes.
    public static var contentCodings: [String] { LibcurlFeatures.current.contentCodings }
}
