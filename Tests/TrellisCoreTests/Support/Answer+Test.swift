import FoundationEssentials
import HTTPTypes
import TrellisCore

extension Answer {
    /// Returns an answer without a transport.
    static func test(
        _ status: Int = 200, type: String? = nil, body: Data? = Data("{}".utf8), method: HTTPRequest.Method = .get,
        accept: String? = nil, fields: HTTPFields = [:]
    ) -> Answer {
        var request = Request("http://a.example/", method: method)
        request.headers[.accept] = accept
        var fields = fields
        fields[.contentType] = type
        let head = ResponseHead(status: .init(code: status), headers: fields)
        return Answer(request: request, response: Response(head: head, url: request.url), body: body)
    }

    static func test(_ status: Int = 200, type: String? = nil, text: String) -> Answer {
        test(status, type: type, body: Data(text.utf8))
    }

    func read<Serializer: ResponseSerializer>(_ serializer: Serializer) async throws -> Serializer.Value {
        try await serializer.serialize(request: request, response: response, data: body ?? Data())
    }
}
