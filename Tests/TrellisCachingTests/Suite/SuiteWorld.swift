import Foundation
import HTTPTypes
import Testing
import TrellisTesting

@testable import TrellisCaching
@testable import TrellisCore

/// The session, the cache and the origin of a case.
final class SuiteWorld: Sendable {
    /// The result of a call.
    enum Answer: Sendable {
        case response(Data, Response)
        case failure(any Error)
    }

    static let url = "http://localhost/suite"

    let clock: SuiteClock
    let origin: SuiteOrigin
    private let transport: MockTransport
    private let cache: HTTPCache
    private let session: Session
    private let isShared: Bool

    init(_ run: SuiteRun, _ storage: any CacheStorage) {
        let clock = SuiteClock()
        let origin = SuiteOrigin(run.example.steps, clock)
        (self.clock, self.origin) = (clock, origin)
        isShared = run.isShared
        transport = MockTransport { try origin.response(to: $0) }
        cache = HTTPCache(storage: storage, policy: CachePolicy(sharing: run.sharing)) {
            Date(timeIntervalSince1970: clock.now)
        }
        var configuration = SessionConfiguration()
        configuration.steps.cache = cache
        // Bodies and redirects are left as they are, as a gateway does it.
        configuration.steps.redirectHandler = Redirector.doNotFollow
        configuration.decodesContent = false
        session = Session(configuration: configuration, transport: transport)
    }

    /// Sends the request of a step.
    func answer(to step: SuiteStep, _ number: Int) async throws -> Answer {
        var lines = step.requestLines
        // The suite's client sends fields without a meaning where there are no others, except in browsers.
        if lines.isEmpty, isShared { lines = ["Pragma: foo", "Cache-Control: nothing-to-see-here"] }
        lines.append("\(SuiteOrigin.requestNumber): \(number)")
        var request = Request(
            Self.url + step.suffix, method: try #require(HTTPRequest.Method(step.method)),
            headers: SuiteFields.fields(lines, at: SuiteClock.start))
        if let text = step.requestText { request.body = .data(Data(text.utf8)) }
        if step.mode != .default { request.cacheMode = step.mode }
        do {
            let (data, response) = try await session.data(request)
            return .response(data, response)
        } catch {
            return .failure(error)
        }
    }

    /// Waits for the end of the validation in the background, if there is one.
    func waitUntilIdle() async throws {
        while cache.exchanges.leaderCount > 0 {
            try Task.checkCancellation()
            await Task.yield()
        }
        try await transport.waitUntilIdle()
    }
}
