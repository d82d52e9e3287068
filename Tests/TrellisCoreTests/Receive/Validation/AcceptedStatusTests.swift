import HTTPTypes
import Testing
import TrellisTestTraits
import TrellisTesting

@testable import TrellisCore

/// The forms in which the accepted statuses are named: ranges, lists, and any other sequence.
@Suite(.timeLimit(.minutes(3)))
struct AcceptedStatusTests {
    struct Form: Sendable, CustomTestStringConvertible {
        let name: String
        let validator: Validator
        let accepted: [Int]

        init(_ name: String, _ validator: Validator, _ accepted: [Int]) {
            (self.name, self.validator, self.accepted) = (name, validator, accepted)
        }

        var testDescription: String { name }
    }

    @Test(arguments: [
        Form("a range", .statusCode(200..<300), [200, 201, 299]),
        Form("a closed range", .statusCode(200...300), [200, 201, 299, 300]),
        Form("a range without an end", .statusCode(300...), [300, 404, 999]),
        Form("a range without a beginning", .statusCode(..<300), [199, 200, 201, 299]),
        Form("a list", .statusCode([404, 201]), [201, 404]),
        Form("a set", .statusCode(Set([404, 201])), [201, 404]),
        Form("steps", .statusCode(stride(from: 201, through: 299, by: 2)), [201, 299]),
        Form("nothing", .statusCode([]), []),
    ])
    func aFormAcceptsItsStatuses(_ form: Form) {
        let request = Request("http://a.example/")
        let accepted = [199, 200, 201, 299, 300, 404, 999].filter {
            form.validator.isMet(by: ResponseHead(status: .init(code: $0)), of: request) == true
        }
        #expect(accepted == form.accepted)
    }

    @Test(.trellis(.mock { _ in .text("x") }))
    func requestsAndStreamsTakeASequence() async throws {
        let session = try #require(Session.current)
        let url = "http://a.example/"
        let (odd, even) = (stride(from: 201, to: 300, by: 2), stride(from: 200, to: 300, by: 2))
        #expect(try await session.request(url).validate(statusCode: even).string() == "x")
        let ofRequest = await #expect(throws: TrellisError.self) {
            try await session.request(url).validate(statusCode: odd).string()
        }
        let ofStreamRequest = await #expect(throws: TrellisError.self) {
            try await session.streamRequest(url).validate(statusCode: odd).response
        }
        let ofStream = await #expect(throws: TrellisError.self) {
            try await session.stream(url).validate(statusCode: odd)
        }
        #expect([ofRequest, ofStreamRequest, ofStream].allSatisfy { $0?.kind == .unacceptableStatus })
    }
}
