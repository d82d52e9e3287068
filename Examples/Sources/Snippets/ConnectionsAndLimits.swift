import Foundation
import Trellis

/// The code of the article.
struct ConnectionsAndLimitsPage {
    struct User: Decodable, Sendable { var name: String }

    func limitRequests() -> Session {
        var configuration = SessionConfiguration()
        configuration.limits.requestsPerOrigin = 8  // requests in flight to one origin, over any number of connections
        configuration.limits.perOrigin = 4  // connections to one origin
        configuration.limits.total = 100  // connections in all
        return Session(configuration: configuration)
    }

    func followTheHost(_ configuration: inout SessionConfiguration) {
        configuration.steps.adaptiveConcurrency = AdaptiveConcurrency()
    }

    func followTheLatency(_ configuration: inout SessionConfiguration) {
        let limit = AdaptiveConcurrency(.gradient(), maximum: 100)
        configuration.steps.adaptiveConcurrency = limit
    }

    func loadUsers(_ urls: [String], _ session: Session) async throws -> [User] {
        try await session.map(urls, concurrency: 8) { session, url in
            try await session.decode(User.self, from: url)
        }
    }

    func checkLinks(_ urls: [String], _ session: Session) async throws -> [Result<Int, any Error>] {
        try await session.map(urls) { session, url in
            do {
                return .success(try await session.data(url).1.status.code)
            } catch {
                return .failure(error)  // the others go on
            }
        }
    }

    func shedLoad() -> Session {
        var configuration = SessionConfiguration()
        configuration.limits.requestsPerOrigin = 50
        configuration.limits.waitingPerOrigin = 200  // beyond that, the lowest priority goes first
        configuration.limits.shedsLateRequests = true  // no wait that outlasts the deadline
        return Session(configuration: configuration)
    }

    func answer(_ session: Session, _ url: String) async throws -> Data? {
        do {
            return try await session.data(Request(url).withPriority(.high), timeout: .seconds(2)).0
        } catch let error as TrellisError where error.isShed {
            return nil  // busy: say so at once
        }
    }

    func load(_ urls: [String], _ session: Session) async throws -> [Data] {
        // One connection, if the server has HTTP/2; otherwise up to fifty.
        try await session.map(urls, concurrency: 50) { session, url in try await session.data(url).0 }
    }

    func warmUp(_ session: Session) async throws {
        try await session.connect(to: "http://api.internal:8080", count: 4)
    }

    func end(_ session: Session) async {
        await session.shutdown(drainingFor: .seconds(10))
    }
}
