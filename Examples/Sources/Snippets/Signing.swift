import Foundation
import Trellis

// The three types of swift-crypto that the page uses, in their form: the examples need no further package to compile.
struct SymmetricKey {}
enum SHA256 {
    static func hash(data: Data) -> [UInt8] { Array(data) }
}
enum HMAC<Hash> {
    static func authenticationCode(for data: Data, using key: SymmetricKey) -> [UInt8] { Array(data) }
}

struct Signature: RequestSigner {
    let key: SymmetricKey

    func sign(_ request: inout WireRequest, context: CallContext) async throws {
        let body = try await request.body?.collect(upTo: 16 << 20) ?? Data()
        let digest = "sha-256=:\(Data(SHA256.hash(data: body)).base64EncodedString()):"
        let date = Date.now.ISO8601Format()
        let text = [request.method.rawValue, request.authority, request.target, date, digest].joined(separator: "\n")
        let code = HMAC<SHA256>.authenticationCode(for: Data(text.utf8), using: key)
        request.headers["X-Date"] = date
        request.headers["Content-Digest"] = digest
        request.headers["X-Signature"] = Data(code).base64EncodedString()
    }
}

/// Returns a signed request, and signs all requests of a session.
func signedRequest(_ configuration: inout SessionConfiguration, key: SymmetricKey) -> Request {
    configuration.steps.signers.append(Signature(key: key))
    let signed = Request("https://api.example.com/orders").withSteps { $0.signers.append(Signature(key: key)) }
    return signed
}
