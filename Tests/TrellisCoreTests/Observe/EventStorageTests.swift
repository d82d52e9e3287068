import FoundationEssentials
import HTTPTypes
import Testing
import TrellisCaching
import TrellisTesting

@testable import TrellisCore

/// The events whose kinds are made when they are read.
@Suite(.timeLimit(.minutes(3)))
struct EventStorageTests {
    private static let url = "http://a.example/"

    /// Returns the events of one request for a response that may be stored.
    private func events(
        of request: Request, _ change: (inout SessionConfiguration) -> Void = { _ in }
    ) async throws -> [RequestEvent] {
        let monitor = EventWords()
        var configuration = SessionConfiguration()
        change(&configuration)
        configuration.eventMonitors = [monitor]
        let session = Session(
            configuration: configuration,
            transport: MockTransport { _ in
                MockResponse(headers: [.cacheControl: "max-age=60"], body: Data("hello".utf8))
            })
        _ = try await session.data(request)
        await session.shutdownAfterEvents()
        return monitor.all
    }

    /// The fields of the session follow those of the request.
    @Test(arguments: [true, false])
    func aQueuedRequestIsComplete(_ hasOwnFields: Bool) async throws {
        var own = Request(Self.url)
        if hasOwnFields { own.headers[.accept] = "text/plain" }
        let events = try await events(of: own) { $0.defaultHeaders[.acceptLanguage] = "de" }
        let event = try #require(events.first { $0.word == "queued" })
        // The kind is made for each reader.
        for _ in 0..<2 {
            guard case .queued(let request) = event.kind else {
                Issue.record("not queued")
                return
            }
            #expect(request.headers[.acceptLanguage] == "de")
            if hasOwnFields { #expect(request.headers[.accept] == "text/plain") }
        }
        #expect(event.detail == .exchanges && event.attempt == 1)
    }

    /// The cache adds its status to the response after the end of the exchange, whose metrics stay as they were.
    @Test func theEndOfAnExchangeHasNoStatusOfACache() async throws {
        let events = try await events(of: Request(Self.url)) { $0.steps.cache = HTTPCache() }
        var metrics: [Metrics] = []
        var responses: [Response] = []
        for event in events {
            switch event.kind {
            case .exchangeEnded(let end, let error):
                metrics.append(end)
                #expect(error == nil && event.detail == .exchanges)
            case .finished(let response): responses.append(response)
            default: break
            }
        }
        #expect(metrics.count == 1 && metrics.first?.cacheStatus == nil)
        #expect(responses.first?.cacheStatus?.isStored == true)
    }

    /// An observer gets the events of its detail, which is known without their kinds.
    @Test func theDetailOfAnEventIsThatOfItsKind() async throws {
        let events = try await events(of: Request(Self.url))
        #expect(events.count == 8)
        #expect(events.allSatisfy { $0.detail == $0.kind.detail })
    }
}
