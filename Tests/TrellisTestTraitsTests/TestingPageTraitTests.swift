import Testing
import Trellis
import TrellisTestTraits
import TrellisTesting

private enum API {
    static let session = Session()

    static func user(_ id: Int) async throws -> String {
        try await session.string("https://api.example.com/users/\(id)")
    }

    static func isValid(name: String) -> Bool { !name.isEmpty }
}

/// The tests of the page Testing about traits.
@Suite(.timeLimit(.minutes(3)))
struct TestingPageTraitTests {
    @Test(.trellis(.router { $0.route(.get, "/users/7").respond(with: .text("Ada")) }))
    func aUserIsReadThroughATrait() async throws {
        #expect(try await API.user(7) == "Ada")
        #expect(MockRouter.current?.requests.first?["User-Agent"] != nil)
    }

    @Test(.trellis(.noNetwork))
    func aNameIsCheckedWithoutARequest() {
        #expect(API.isValid(name: "Ada"))
    }
}
