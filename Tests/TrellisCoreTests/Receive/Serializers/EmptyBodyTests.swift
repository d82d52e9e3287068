import FoundationEssentials
import HTTPTypes
import Testing

@testable import TrellisCore

/// The responses whose body may be empty, and the value of an empty body.
struct EmptyBodyTests {
    private struct Model: Decodable, Equatable { let name: String }

    struct Row: Sendable {
        let status: Int
        let method: HTTPRequest.Method
        let isStandard: Bool
    }

    static let rows = [
        Row(status: 204, method: .get, isStandard: true), Row(status: 205, method: .post, isStandard: true),
        Row(status: 200, method: .head, isStandard: true), Row(status: 200, method: .get, isStandard: false),
        Row(status: 201, method: .put, isStandard: false), Row(status: 404, method: .get, isStandard: false),
    ]

    private func fails(
        _ row: Row, _ serializer: some ResponseSerializer, _ type: String, _ shouldFail: Bool
    ) async {
        let answer = Answer.test(row.status, body: Data(), method: row.method)
        let result = await Result { () async throws in _ = try await answer.read(serializer) }
        let reason: TrellisError.Reason? =
            if case .failure(let error) = result { (error as? TrellisError)?.reason } else { nil }
        #expect(reason == (shouldFail ? .serializationFailed(.emptyBody(type: type)) : nil))
    }

    @Test(arguments: rows)
    func nothingDecodesWhereItIsExpectedToATypeThatHasAValueForIt(_ row: Row) async {
        await fails(row, .decodable(Empty.self), "Empty", !row.isStandard)
        await fails(row, .decodable(Model?.self), "Optional<Model>", !row.isStandard)
        await fails(row, .decodable(Model.self), "Model", true)
        await fails(row, .decodable(Empty.self, emptyBodies: .always), "Empty", false)
        await fails(row, .decodable(Model.self, emptyBodies: .always), "Model", true)
    }

    @Test(arguments: rows)
    func bytesAndTextMayBeEmptyUnlessTheyMustNot(_ row: Row) async {
        await fails(row, .data, "", false)
        await fails(row, .string, "", false)
        await fails(row, DataResponseSerializer(emptyBodies: .standard), "Data", !row.isStandard)
        await fails(row, StringResponseSerializer(emptyBodies: .standard), "String", !row.isStandard)
    }

    @Test func theValuesOfNothing() async throws {
        let nothing = Answer.test(204, body: Data())
        #expect(try await nothing.read(.decodable(Model?.self)) == nil)
        #expect(try await nothing.read(.decodable(Empty.self)) == Empty.value)
        #expect(try await nothing.read(.string) == "")
    }

    @Test func aRuleOfOnesOwn() async {
        let rule = EmptyBodyRule(statusCodes: [202], methods: [])
        await fails(
            Row(status: 202, method: .get, isStandard: false), .decodable(Empty.self, emptyBodies: rule), "", false)
        await fails(
            Row(status: 204, method: .head, isStandard: true), .decodable(Empty.self, emptyBodies: rule), "Empty", true)
    }

    @Test func aBodyThatIsThereIsDecodedWhereverNoneIsExpected() async throws {
        #expect(try await Answer.test(204, text: #"{"name": "a"}"#).read(.decodable(Model?.self)) == Model(name: "a"))
    }
}
