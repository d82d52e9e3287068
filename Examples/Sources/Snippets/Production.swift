import Trellis

/// The code of the pages about security and production.
enum ProductionPages {
    static func makeFetcher() -> Session {
        var configuration = SessionConfiguration()
        configuration.egress = .publicInternet  // judged for every hop, by the address that is connected to
        configuration.redirects = RedirectPolicy(maximumRedirects: 3)
        configuration.maximumBodySize = .bytes(5 << 20)
        configuration.timeouts.total = .seconds(10)
        let fetcher = Session(configuration: configuration)  // no cookies, credentials or proxy of others
        return fetcher
    }

    static func markSecret(_ tenantID: String) -> Request {
        var tenant = HTTPField(name: .init("X-Tenant") ?? .cookie, value: tenantID)
        tenant.indexingStrategy = .disallow
        let request = Request("https://api.example.com/", headers: [tenant])
        return request
    }

    static func setCertificates(_ configuration: inout SessionConfiguration) {
        configuration.tls.authorities = .only([.file("/etc/service/ca.pem")])  // an internal service
        configuration.tls.minimumVersion = .v1_3
        configuration.tls.clientIdentity = ClientIdentity(certificate: .file("client.pem"), key: .file("client.key"))
    }

    struct Service {
        let token: String

        func makeSession() throws -> Session {
            var configuration = SessionConfiguration()
            configuration.baseURL = "https://api.example.com/v2/"
            configuration.userAgent = "orders/1.4 (team-orders@example.com)"
            configuration.acceptLanguage = nil
            configuration.timeouts = Timeouts(connect: .seconds(3), total: .seconds(20))
            configuration.retry = RetryPolicy()
            configuration.limits.requestsPerOrigin = 50
            configuration.steps.circuitBreaker = CircuitBreaker()
            configuration.maximumBodySize = .bytes(8 << 20)
            configuration.authentication = try .bearer(token, origin: "https://api.example.com")
            configuration.eventMonitors = [RequestLog()]
            return Session(configuration: configuration)
        }
    }

    static func watch(_ session: Session) async {
        print(TrellisRuntime.libcurlVersion, TrellisRuntime.contentCodings)
        let health = session.health
        for request in await session.liveRequests where request.elapsed > .seconds(10) { print(request) }
        print(health)
    }
}
