import Foundation
import Trellis

/// An order, as the service of orders knows it.
struct Order: Codable, Equatable, Sendable {
    var id: Int
    var state: String
}

/// A client of a service that runs on ten servers behind one name. A server that fails or hangs costs no call.
struct OrderClient: Sendable {
    let session: Session
    private let service: String

    /// Creates a client. Its parameters are those that its tests set.
    ///
    /// - Parameters:
    ///   - service: The origin of the service, for which the servers have a certificate.
    ///   - servers: The servers, each with its host and port.
    ///   - zone: The zone in which the program runs, if the servers name theirs.
    ///   - patience: The time after which another server is asked too.
    init(
        service: String = "https://orders.internal", servers: [Endpoint], zone: String? = nil,
        patience: Duration = .milliseconds(200), clock: (any Clock<Duration>)? = nil
    ) {
        var pool = EndpointPool(servers, policy: .leastRequests)
        pool.zone = zone
        pool.ejection?.consecutiveFailures = 3
        var configuration = SessionConfiguration()
        configuration.endpoints[service] = pool
        configuration.timeouts = Timeouts(connect: .seconds(1), total: .seconds(5))
        configuration.retry = RetryPolicy(exponentialBackoffScale: .milliseconds(50))
        configuration.steps.hedging = HedgingPolicy(after: patience)
        self.service = service
        session = Session(configuration: configuration, clock: clock)
    }

    func order(_ id: Int) async throws -> Order {
        try await session.decode(Order.self, from: "\(service)/orders/\(id)")
    }

    /// The servers that get no requests at present, for a page of the operator's.
    var ejectedServers: [String] { session.endpointStates.filter(\.isEjected).map { "\($0.endpoint)" } }
}
