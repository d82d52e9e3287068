private import FoundationEssentials
private import Glibc

/// Where this system keeps the certificate authorities it trusts.
enum CertificateBundle {
    /// A PEM file with all of them: `SSL_CERT_FILE`, libcurl's own setting, or where distributions put it.
    static let system: String? = candidates.first(where: isReadable)

    /// A directory of them by hash, for OpenSSL: looked up one by one, so that it costs nothing to have many.
    static let systemDirectory: String? = {
        let directories = [LibcurlFeatures.current.certificateDirectory, "/etc/ssl/certs"].compactMap { $0 }
        return directories.first { directory in
            let names = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
            return names.contains { $0.count == 10 && $0.hasSuffix(".0") }
        }
    }()

    /// The system's bundle and a file of the user's in one.
    static func system(with file: String) -> [UInt8]? {
        guard let system, let all = FileManager.default.contents(atPath: system),
            let more = FileManager.default.contents(atPath: file)
        else { return nil }
        return [UInt8](all) + [10] + [UInt8](more)
    }

    private static var candidates: [String] {
        let environment = ProcessInfo.processInfo.environment["SSL_CERT_FILE"]
        return [environment, LibcurlFeatures.current.certificateFile].compactMap { $0 } + [
            "/etc/ssl/certs/ca-certificates.crt",
            "/etc/pki/tls/certs/ca-bundle.crt",
            "/etc/ssl/cert.pem",
            "/etc/ssl/ca-bundle.pem",
            "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
        ]
    }

    private static func isReadable(_ path: String) -> Bool { unsafe access(path, R_OK) == 0 }
}
