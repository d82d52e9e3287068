import Logging
import ServiceLifecycle
import Trellis
import TrellisService

func serve(
    _ makeServer: (SessionService, ShutdownAnnouncement) -> any Service, logger: Logger
) async throws {
    var configuration = SessionConfiguration()
    configuration.baseURL = "https://api.example.com/v2/"
    let session = Session(configuration: configuration)
    let service = SessionService(session, grace: .seconds(20))
    let announcement = ShutdownAnnouncement(for: .seconds(10))

    var group = ServiceGroupConfiguration(
        // The last one ends first: the shutdown is announced, the server answers what it has accepted, the session ends.
        services: [service, makeServer(service, announcement), announcement],
        gracefulShutdownSignals: [.sigterm], cancellationSignals: [.sigint], logger: logger)
    group.maximumGracefulShutdownDuration = .seconds(45)
    try await ServiceGroup(configuration: group).run()
}

/// Returns the response to a probe of the process: 200 until a shutdown is announced, 503 afterwards.
func readiness(of service: SessionService, _ announcement: ShutdownAnnouncement) -> (status: Int, text: String) {
    if announcement.hasBegun { return (503, "shutting down") }
    return (service.health.acceptsRequests ? 200 : 503, "\(service.health)")
}
