import FoundationEssentials
import HTTPTypes
import Testing
import TrellisCore

/// Parameters encoded as property lists.
struct PropertyListParameterEncoderTests {
    private static func data(_ request: Request) throws -> Data {
        guard case .data(let data)? = request.body?.source else { throw CancellationError() }
        return data
    }

    @Test func theBodyIsXMLWhateverTheMethod() throws {
        let request = try Request("http://localhost/").withParameters(["a": [1, 2]], encoder: .propertyList)
        #expect(request.url == "http://localhost/" && request.body?.contentType == "application/x-plist")
        let data = try Self.data(request)
        #expect(data.starts(with: Data("<?xml".utf8)))
        #expect(try PropertyListDecoder().decode([String: [Int]].self, from: data) == ["a": [1, 2]])
    }

    @Test func anEncoderOfOnesOwnDecidesOnTheFormat() throws {
        let binary = PropertyListEncoder()
        binary.outputFormat = .binary
        let request = try Request("http://localhost/").withParameters(["a": 1], encoder: .propertyList(encoder: binary))
        #expect(try Self.data(request).starts(with: Data("bplist00".utf8)))
    }

    @Test func whatCannotBeEncodedIsAnErrorWithTheRequest() throws {
        struct Refusal: Error {}
        struct Refusing: Encodable { func encode(to encoder: any Encoder) throws { throw Refusal() } }
        let request = Request("http://localhost/", method: .put)
        let error = try #require(throws: TrellisError.self) {
            try request.withParameters(Refusing(), encoder: .propertyList)
        }
        #expect(error.kind == .invalidRequest && error.method == .put && error.underlying != nil)
    }
}
