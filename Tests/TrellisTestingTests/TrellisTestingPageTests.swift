import Testing
import Trellis
import TrellisTesting

private struct Order: Codable, Sendable { var item: String }

/// The code that is tested.
private enum Shop {
    static let session = Session()

    static func order(_ item: String) async throws -> Int {
        let request = try Request("https://shop.example/orders", method: .post, body: .json(Order(item: item)))
        return try await session.request(request).validate().response(of: .data).status.code
    }
}

/// The complete example of the page about the product.
@Suite(.timeLimit(.minutes(3)))
struct TrellisTestingPageTests {
    @Test func anOrderIsSentOnce() async throws {
        let router = MockRouter()
        router.route(.post, "/orders", .json(#"{"item": "tea"}"#)).respond(with: MockResponse(status: 201))
        let status = try await withTransport(router) { try await Shop.order("tea") }
        #expect(status == 201)
    }

    @Test func anOrderOverABrokenConnectionIsAnError() async throws {
        let mock = MockTransport { _ in MockResponse(status: 201) }
        let transport = FaultTransport(wrapping: mock, faults: [.always(.reset(.responseHead))])
        let error = await #expect(throws: TrellisError.self) {
            try await withTransport(transport) { try await Shop.order("tea") }
        }
        #expect(error?.kind == .receive && error?.mayHaveSentBytes == true)
    }
}
