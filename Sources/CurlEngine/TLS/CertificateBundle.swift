private import FoundationEssentials
private import Glibc

/// The files in which this system keeps the certificate authorities that it trusts.
enum CertificateBundle {
    /// The path of a PEM file with all authorities: `SSL_CERT_FILE`, the path in libcurl's build, or the usual path of a distribution.
    static let system: String? = candidates.first(where: isReadable).map(absolute)

    /// The path of a directory with the same authorities by hash, for OpenSSL, if any. OpenSSL reads them one by one, so
    /// that a large number of them costs nothing. A file that the user or libcurl has chosen may have other authorities than the
    /// distribution.
    static let systemDirectory: String? = {
        if let system, !distributionFiles.contains(system) { return nil }
        let directories = [LibcurlFeatures.current.certificateDirectory, "/etc/ssl/certs"].compactMap { $0 }
        return directories.first { directory in
            let names = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
            return names.contains { $0.count == 10 && $0.hasSuffix(".0") }
        }
    }()

    private static var candidates: [String] {
        let environment = ProcessInfo.processInfo.environment["SSL_CERT_FILE"]
        return [environment, LibcurlFeatures.current.certificateFile].compactMap { $0 } + distributionFiles
    }

    private static let distributionFiles = [
        "/etc/ssl/certs/ca-certificates.crt",
        "/etc/pki/tls/certs/ca-bundle.crt",
        "/etc/ssl/cert.pem",
        "/etc/ssl/ca-bundle.pem",
        "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    ]

    /// Returns the absolute path of a file, which stays right when the process changes its folder. libcurl also names the TLS
    /// sessions of a relative path by the file (`realpath`): it would resume them in spite of another spelling of the path.
    static func absolute(_ path: String) -> String {
        path.utf8.first == UInt8(ascii: "/") ? path : "\(FileManager.default.currentDirectoryPath)/\(path)"
    }

    private static func isReadable(_ path: String) -> Bool { unsafe access(path, R_OK) == 0 }
}
