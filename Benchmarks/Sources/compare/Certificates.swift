/// The certificate authority of the benchmark, which the clients are configured to trust, and a certificate for loopback addresses.
enum Certificates {
    /// Returns the path of the authority's certificate in the folder.
    static func authority(in folder: String) -> String { "\(folder)/authority.pem" }

    /// Creates both certificates with the `openssl` command. `run` runs a command and throws an error if the command fails.
    ///
    /// - Parameter addresses: The number of loopback addresses that the certificate is for.
    static func make(in folder: String, addresses: Int, run: ([String]) throws -> Void) throws {
        let key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
        try run(
            ["openssl", "req", "-x509", "-days", "2", "-subj", "/CN=Trellis benchmark authority"] + key
                + ["-keyout", "\(folder)/authority.key", "-out", authority(in: folder)])
        try run(
            ["openssl", "req", "-subj", "/CN=127.0.0.1"] + key
                + ["-keyout", "\(folder)/server.key", "-out", "\(folder)/server.csr"])
        let names = (0..<addresses).map { "IP:\(NginxConfiguration.address($0))" }.joined(separator: ",")
        try writeFile("subjectAltName=\(names)\n", to: "\(folder)/server.ext")
        try run([
            "openssl", "x509", "-req", "-days", "2", "-in", "\(folder)/server.csr", "-CA", authority(in: folder),
            "-CAkey", "\(folder)/authority.key", "-CAcreateserial", "-extfile", "\(folder)/server.ext",
            "-out", "\(folder)/server.pem",
        ])
    }
}
