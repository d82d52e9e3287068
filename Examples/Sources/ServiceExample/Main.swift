import Configuration
import Glibc
import Hummingbird
import Logging
import NIOCore
import ServiceFront
import ServiceLifecycle
import Synchronization
import TerminalKit
import Trellis
import TrellisConfiguration
import TrellisService
import UnixSignals

/// The `service-example` program: a server in front of another one, whose settings come from the environment, and which SIGTERM ends
/// without losing a request.
///
///     HTTP_BASE_URL=http://localhost:3000/ HTTP_TIMEOUTS_TOTAL=5 PORT=8080 service-example
///
/// The variables that begin with `HTTP_` are those of `TrellisConfiguration`; one that cannot be used ends the program with the status 78.
/// `PORT` is the port to listen on, a free one by default. After SIGTERM, the process announces its end for `ANNOUNCEMENT` seconds, 5 by
/// default: it serves requests, and `/health` answers 503. Then requests have `GRACE` seconds to end, 20 by default. Prints a line when it
/// listens, and the number of the requests for users that it has accepted when it ends.
@main
enum Main {
    static func main() async throws {
        let config = ConfigReader(provider: EnvironmentVariablesProvider())
        let configuration = await settings(config.scoped(to: "http"))
        let grace = Duration.seconds(config.double(forKey: "grace", default: 20))
        let announcement = ShutdownAnnouncement(for: .seconds(config.double(forKey: "announcement", default: 5)))
        let logger = Logger(label: "service-example") { label in
            var handler = StreamLogHandler.standardError(label: label)
            handler.logLevel = .warning
            return handler
        }
        let service = SessionService(Session(configuration: configuration), grace: grace)
        let count = AcceptedRequests()
        let server = Application(
            router: Front.router(service, announcement: announcement) { count.add() },
            configuration: ApplicationConfiguration(
                address: .hostname("127.0.0.1", port: config.int(forKey: "port", default: 0))),
            onServerRunning: { channel in write("listening on 127.0.0.1:\(channel.localAddress?.port ?? 0)") },
            logger: logger)
        // The last service is the first to end. The session still sends requests while the server answers what it has accepted.
        var group = ServiceGroupConfiguration(
            services: [service, server, announcement], gracefulShutdownSignals: [.sigterm],
            cancellationSignals: [.sigint], logger: logger)
        group.maximumGracefulShutdownDuration = announcement.duration + grace
        try await ServiceGroup(configuration: group).run()
        write("\(service.health) after \(count.value) requests")
    }

    /// Returns the configuration of the session. A setting that cannot be used ends the process.
    private static func settings(_ reader: ConfigReader) async -> SessionConfiguration {
        do {
            return try await SessionConfiguration(reading: reader)
        } catch {
            Terminal.error.print("service-example: \(error)")
            exit(78)
        }
    }

    /// Writes a line at once, although the output is a pipe.
    private static func write(_ line: String) {
        print(line)
        fflush(nil)
    }
}

/// The number of requests that were accepted.
private final class AcceptedRequests: Sendable {
    private let count = Atomic(0)

    var value: Int { count.load(ordering: .relaxed) }

    func add() { count.add(1, ordering: .relaxed) }
}
