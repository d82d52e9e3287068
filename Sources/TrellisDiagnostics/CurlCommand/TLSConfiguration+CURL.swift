import CurlEngine
import TrellisCore

extension TLSConfiguration {
    /// The options of curl for connections to servers.
    var cURLSettings: CURLSettings {
        var settings = cURLVerification(prefix: "--")
        if requiresStapledResponse { settings.add("--cert-status") }
        if minimumVersion == .v1_3 { settings.add("--tlsv1.3") }
        if let maximumVersion { settings.add("--tls-max", maximumVersion.rawValue) }
        if keyLogFile != nil { settings.remarks.append("curl takes the path of a key log from SSLKEYLOGFILE") }
        settings += cURLIdentity(prefix: "--")
        return settings
    }

    /// Returns the options of curl for connections to HTTPS proxies.
    ///
    /// - Parameter isOfProxy: Whether the configuration is the proxy's own, so that the proxy gets the client certificate.
    func cURLProxySettings(isOfProxy: Bool) -> CURLSettings {
        var settings = cURLVerification(prefix: "--proxy-")
        if minimumVersion == .v1_3 || maximumVersion != nil {
            settings.remarks.append("curl has no option for the versions of TLS of the proxy")
        }
        if isOfProxy { settings += cURLIdentity(prefix: "--proxy-") }
        return settings
    }

    private func cURLVerification(prefix: String) -> CURLSettings {
        var settings = CURLSettings()
        if isInsecure { settings.add("\(prefix)insecure") }
        let paths = authorities.sources.compactMap(\.path)
        for path in paths.suffix(1) { settings.add("\(prefix)cacert", path) }
        if authorities.sources.count > paths.suffix(1).count {
            settings.remarks.append("curl reads the authorities from a single file: put all of them into one")
        }
        if case .systemAnd = authorities, !authorities.sources.isEmpty {
            settings.remarks.append("curl trusts the authorities of its file in place of the system's")
        }
        for path in revocationLists.compactMap(\.path).suffix(1) { settings.add("\(prefix)crlfile", path) }
        if revocationLists.count > 1 || revocationLists.contains(where: { $0.path == nil }) {
            settings.remarks.append("curl reads the revocation lists from a single file: put all of them into one")
        }
        if let cipherList { settings.add("\(prefix)ciphers", cipherList) }
        if let tls13CipherSuites { settings.add("\(prefix)tls13-ciphers", tls13CipherSuites) }
        return settings
    }

    private func cURLIdentity(prefix: String) -> CURLSettings {
        var settings = CURLSettings()
        guard let clientIdentity else { return settings }
        if let path = clientIdentity.certificate.path {
            let isPKCS12 = [".p12", ".pfx"].contains { path.lowercasedASCII().hasByteSuffix($0) }
            // curl takes the text after a colon as the passphrase.
            settings.add("\(prefix)cert", path.replacingColons)
            if isPKCS12 { settings.add("\(prefix)cert-type", "P12") }
        }
        if let path = clientIdentity.key?.path { settings.add("\(prefix)key", path) }
        if [clientIdentity.certificate, clientIdentity.key].contains(where: { $0.map { $0.path == nil } ?? false }) {
            settings.remarks.append("the client certificate or its key is not in a file")
        }
        if clientIdentity.passphrase != nil {
            settings.remarks.append("the passphrase of the key is missing: \(prefix)pass")
        }
        return settings
    }
}

extension String {
    /// The text with a backslash before each colon and backslash.
    fileprivate var replacingColons: String {
        replacing(byte: "\\", with: "\\\\").replacing(byte: ":", with: "\\:")
    }
}
