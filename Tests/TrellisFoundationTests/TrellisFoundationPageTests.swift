import Foundation
import FoundationNetworking
import Testing
import Trellis
import TrellisFoundation
import TrellisTesting

private struct Price: Codable, Sendable { var pence: Int }

/// The code that comes from `URLSession`.
private enum Shop {
    static let session = Session()

    static func request(_ item: String) throws -> URLRequest {
        guard let url = URL(string: "https://shop.example/prices/\(item)") else { throw URLError(.badURL) }
        var request = URLRequest(url: url)
        request.setValue("application/json", forHTTPHeaderField: "Accept")
        return request
    }

    static func answer(_ item: String) async throws -> (Data, URLResponse?) {
        let (data, response) = try await session.data(request(item))
        return (data, HTTPURLResponse(response))
    }

    static func price(_ item: String) async throws -> Price {
        try await session.request(request(item)).validate().decode(Price.self)
    }
}

/// The complete example of the page about the product.
@Suite(.timeLimit(.minutes(3)))
struct TrellisFoundationPageTests {
    private static func router() -> MockRouter {
        let router = MockRouter()
        router.route(.get, "https://shop.example/prices/tea", .header("Accept", "application/json"))
            .respond(with: .json(#"{"pence": 300}"#))
        return router
    }

    @Test func theRequestAndTheResponseAreThoseOfFoundation() async throws {
        let (data, response) = try await withTransport(Self.router()) { try await Shop.answer("tea") }
        #expect(data == Data(#"{"pence": 300}"#.utf8))
        let answer = try #require(response as? HTTPURLResponse)
        #expect(answer.statusCode == 200)
        #expect(answer.value(forHTTPHeaderField: "Content-Type") == "application/json")
        #expect(answer.url?.absoluteString == "https://shop.example/prices/tea")
    }

    @Test func aPriceIsDecoded() async throws {
        let price = try await withTransport(Self.router()) { try await Shop.price("tea") }
        #expect(price.pence == 300)
    }
}
