import Trellis

/// The code of the page "Egress policies".
enum Egress {
    static func fetch(_ configuration: inout SessionConfiguration) async throws {
        configuration.egress = .publicInternet
        let fetcher = Session(configuration: configuration)
        do {
            let (page, _) = try await fetcher.data("http://169.254.169.254/latest/meta-data/")
            print(page.count)
        } catch let error as TrellisError where error.kind == .egressRefused {
            print(error)  // … 169.254.169.254 is in the network 169.254.0.0/16, which is denied
        }
    }

    static func rules(_ configuration: inout SessionConfiguration) throws {
        configuration.egress = try .publicInternet.allowing("10.1.0.0/16").denying("198.51.100.0/24")

        var partners = try EgressPolicy().denying("0.0.0.0/0", "::/0").allowing("198.51.100.0/24")
        partners.schemes = ["https"]
        partners.ports = [443]
        partners.allowedHosts = [try HostPattern("**.partner.example")]
        configuration.egress = partners
    }
}
