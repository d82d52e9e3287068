import Logging
import ServiceLifecycle
import Trellis
import TrellisService

func serve(_ makeServer: (Session, SessionService) -> any Service, logger: Logger) async throws {
    var configuration = SessionConfiguration()
    configuration.baseURL = "https://api.example.com/v2/"
    let session = Session(configuration: configuration)
    let service = SessionService(session, grace: .seconds(20))

    var group = ServiceGroupConfiguration(
        services: [service, makeServer(session, service)],  // the session first: it is the last to end
        gracefulShutdownSignals: [.sigterm], cancellationSignals: [.sigint], logger: logger)
    group.maximumGracefulShutdownDuration = .seconds(45)
    try await ServiceGroup(configuration: group).run()
}

/// Returns the response to a probe of the process: 200 as long as the session accepts requests, 503 afterwards.
func readiness(of service: SessionService) -> (status: Int, text: String) {
    (service.health.acceptsRequests ? 200 : 503, "\(service.health)")
}
