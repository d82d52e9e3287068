import CurlEngine
import FoundationEssentials
import HTTPTypes

@testable import TrellisCore
@testable import TrellisSignatures

extension HTTPFields {
    /// Creates fields in their order.
    init(_ pairs: [(String, String)]) {
        self.init()
        for (name, value) in pairs {
            guard let name = HTTPField.Name(name) else { continue }
            append(HTTPField(name: name, value: value))
        }
    }
}

extension Response {
    /// Creates a response with fields.
    init(_ status: Int, _ pairs: [(String, String)], url: String = "https://example.com/") {
        self.init(
            head: ResponseHead(status: HTTPResponse.Status(code: status), headers: HTTPFields(pairs)), url: url)
    }
}

/// The key of RFC 9421, appendix B.1.5.
let sharedKey = SignatureKey.hmac(Data(base64Encoded: RFCKeys.secret) ?? Data(), id: "test-shared-secret")

/// The time of the examples in RFC 9421, appendix B.2.
let exampleTime = Date(timeIntervalSince1970: 1_618_884_473)
