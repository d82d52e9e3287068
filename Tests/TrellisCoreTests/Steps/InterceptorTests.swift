import HTTPTypes
import Testing
import TrellisTesting

@testable import TrellisCore

/// Several adapters and retriers combined into one interceptor.
@Suite(.timeLimit(.minutes(3)))
struct InterceptorTests {
    private static let keyed = RetryPolicy(retryLimit: 1, addsIdempotencyKey: true) { 0 }

    struct Place: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let interceptor: Interceptor
    }

    private static let places = [
        Place(testDescription: "among the retriers", interceptor: Interceptor(retriers: [keyed])),
        Place(testDescription: "among the adapters", interceptor: Interceptor(adapters: [keyed])),
        Place(testDescription: "among both", interceptor: Interceptor(adapters: [keyed], retriers: [keyed])),
        Place(testDescription: "among the interceptors", interceptor: Interceptor(interceptors: [keyed])),
        Place(testDescription: "in another", interceptor: Interceptor(retriers: [Interceptor(retriers: [keyed])])),
    ]

    /// A member is installed as a whole: a policy that retries a `POST` because of its key also adds the key.
    @Test(arguments: places)
    func aMemberIsInstalledWhole(_ place: Place) async throws {
        let transport = MockTransport { _ in MockResponse(status: 503) }
        var configuration = SessionConfiguration()
        configuration.steps.intercept(with: place.interceptor)
        let session = Session(configuration: configuration, transport: transport)
        _ = try await session.data(Request("http://a.example/", method: .post))
        let keys = transport.requests.map { $0.request.headers[.idempotencyKey] }
        #expect(keys.count == 2)
        #expect(keys.first != .some(nil) && Set(keys).count == 1)
        await session.shutdown()
    }

    @Test func whatHasOneSideStaysWhereItIs() {
        let adapter = Adapter { request, _ in request }, retrier = Retrier { _, _ in .doNotRetry }
        let interceptor = Interceptor(adapters: [adapter], retriers: [retrier], interceptors: [Self.keyed, Self.keyed])
        #expect(interceptor.adapters.map { "\(type(of: $0))" } == ["Adapter", "RetryPolicy", "RetryPolicy"])
        #expect(interceptor.retriers.map { "\(type(of: $0))" } == ["Retrier", "RetryPolicy", "RetryPolicy"])
    }
}
