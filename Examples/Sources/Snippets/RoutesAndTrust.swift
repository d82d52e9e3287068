import Trellis

/// A place for secrets, as a program has it.
protocol SecretVault: Sendable {
    func passphrase() async throws -> String
}

/// The code of the article about routes and trust.
func configurationWithAuthorities() throws -> SessionConfiguration {
    var configuration = SessionConfiguration()
    configuration.tls.authorities = .systemAnd([.file("/etc/service/ca.pem")])  // these too
    var partner = configuration.tls  // for some hosts, only these
    partner.authorities = .only([.file("/etc/partner/ca.pem")])
    partner.minimumVersion = .v1_3
    configuration.tlsForHosts[try HostPattern("**.partner.example")] = partner
    return configuration
}

func addIdentity(to configuration: inout SessionConfiguration, vault: some SecretVault) {
    configuration.tls.clientIdentity = ClientIdentity(certificate: .file("client.pem"), key: .file("client.key"))
    configuration.tls.clientIdentity = ClientIdentity(certificate: .file("client.p12")) { try await vault.passphrase() }
}

func addPins(to configuration: inout SessionConfiguration) throws {
    let pins = try PublicKeysTrustEvaluator(pins: [
        "sha256/C5+lpZ7tcVwmwQIMcRtPbsQtWLABXhQzejna0wHFr8M=",  // the authority's key
        "sha256/diGVwiVYbubAI3RW4hB9xU8e/CH2GnkuvVFZE8zmgzI=",  // the backup, a key that is not in use yet
    ])
    configuration.serverTrustManager = try ServerTrustManager(evaluators: [
        "api.example.com": pins,
        "*.cdn.example": DefaultTrustEvaluator(),
    ])
}

func showCertificates(with session: Session) async throws {
    let (_, response) = try await session.data(Request("https://example.com/").collectingServerTrust())
    for certificate in response.serverTrust?.chain ?? [] {
        print(certificate.subject, certificate.notAfter, certificate.publicKeyPin)
    }
}

func addUpgrades(to configuration: inout SessionConfiguration) {
    configuration.hsts = HSTSStore()  // in memory
    configuration.hsts = HSTSStore(file: "hsts.txt")  // in the format of `curl --hsts`, for several processes
    configuration.alternativeServices = AlternativeServiceStore()  // in memory
    configuration.alternativeServices = AlternativeServiceStore(file: "alt-svc.txt")  // the file of `curl --alt-svc`
}
