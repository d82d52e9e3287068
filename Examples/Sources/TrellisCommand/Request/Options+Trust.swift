import ArgumentParser
import Trellis

/// The options about the client's certificate and the version of TLS.
struct TrustOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The client's certificate, in PEM or PKCS#12. Without --key, the key is in the same file.",
            valueName: "FILE"), completion: .file())
    var cert: String?

    @Option(help: ArgumentHelp("The key of --cert, in PEM.", valueName: "FILE"), completion: .file())
    var key: String?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("The passphrase of the key, or the file whose first line it is.", valueName: "PHRASE|@FILE"))
    var pass: String?

    @Flag(name: .customLong("tlsv1.3"), help: "Accept TLS 1.3 and later only.")
    var requiresTLS13 = false

    func validate() throws {
        guard cert != nil || key == nil else { throw ValidationError("--key goes with --cert.") }
        guard cert != nil || pass == nil else { throw ValidationError("--pass goes with --cert.") }
    }

    /// Sets the options in a configuration.
    func apply(to tls: inout TLSConfiguration) {
        if requiresTLS13 { tls.minimumVersion = .v1_3 }
        guard let cert else { return }
        var passphrase: (@Sendable () async throws -> String)?
        if let pass { passphrase = { try await Self.passphrase(pass) } }
        tls.clientIdentity = ClientIdentity(
            certificate: .file(cert), key: key.map { .file($0) }, passphrase: passphrase)
    }

    /// Returns the passphrase of the argument.
    ///
    /// - Throws: ``RequestFailure`` for a file that cannot be read.
    private static func passphrase(_ argument: String) async throws -> String {
        guard let path = argument[...].after("@").map(String.init) else { return argument }
        let contents = try await offThePool {
            do {
                return try Data(contentsOf: URL(filePath: path))
            } catch {
                throw RequestFailure("file", "the file \(path) of the passphrase cannot be read")
            }
        }
        let line = contents.prefix { $0 != 0x0a }
        return String(decoding: line.last == 0x0d ? line.dropLast() : line, as: UTF8.self)
    }
}
