import Foundation
import HTTPTypes
import Trellis

/// The code of the article.
struct TimeLimitsPage {
    func limitTime(_ session: Session, _ url: String) async throws {
        let (data, _) = try await session.data(url, timeouts: Timeouts(total: .seconds(5)))
        print(data.count)
    }

    func setLimits() async throws {
        var configuration = SessionConfiguration()
        configuration.timeouts = Timeouts(connect: .seconds(3), total: .seconds(30))  // of every request
        let session = Session(configuration: configuration)

        var request = Request("https://api.example.com/report")
        request.timeouts = Timeouts(responseHead: .seconds(300), total: .seconds(600))  // a slow report
        let (report, _) = try await session.data(request)
        print(report.count)

        let log = try await session.stream("https://example.com/log", timeouts: .endless)
        for try await line in log.lines { print(line) }
    }

    func tellTheServer() -> Session {
        var configuration = SessionConfiguration()
        configuration.timeouts.total = .seconds(2)
        configuration.timeouts.deadlineField = .grpcTimeout  // or .milliseconds("X-Request-Timeout")
        return Session(configuration: configuration)
    }

    func passOn(_ received: HTTPFields, _ session: Session) async throws -> Data {
        var request = Request("https://stock.example.com/items")
        if let left = DeadlineField.grpcTimeout.timeLeft(in: received) {
            request.timeouts = Timeouts(total: left)  // less with each service, never more
        }
        return try await session.data(request).0
    }
}
