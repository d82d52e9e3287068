import CurlEngine

extension TLSConfiguration {
    /// The options of curl for the configuration. Contents that are not in files, the passphrase of a key and the key log have none.
    var cURLArguments: [String] {
        var arguments = isInsecure ? ["--insecure"] : []
        for path in authorities.sources.compactMap(\.path) { arguments += ["--cacert", path] }
        for path in revocationLists.compactMap(\.path) { arguments += ["--crlfile", path] }
        if requiresStapledResponse { arguments.append("--cert-status") }
        if minimumVersion == .v1_3 { arguments.append("--tlsv1.3") }
        if let maximumVersion { arguments += ["--tls-max", maximumVersion.rawValue] }
        if let cipherList { arguments += ["--ciphers", cipherList] }
        if let tls13CipherSuites { arguments += ["--tls13-ciphers", tls13CipherSuites] }
        if let path = clientIdentity?.certificate.path {
            let isPKCS12 = [".p12", ".pfx"].contains { path.lowercased().hasByteSuffix($0) }
            // curl takes the text after a colon as the passphrase.
            arguments += ["--cert", path.replacingColons] + (isPKCS12 ? ["--cert-type", "P12"] : [])
        }
        if let path = clientIdentity?.key?.path { arguments += ["--key", path] }
        return arguments
    }
}

extension String {
    /// The text with a backslash before each colon and backslash.
    fileprivate var replacingColons: String {
        replacing(byte: "\\", with: "\\\\").replacing(byte: ":", with: "\\:")
    }
}
