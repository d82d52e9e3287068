import Foundation
import Trellis
import TrellisSignatures

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

/// Where the credentials are.
protocol Vault: Sendable {
    func credentials() async throws -> AWSCredentials
}

func signMessages(_ configuration: inout SessionConfiguration, pem: String) throws {
    let key = try SignatureKey.pem(pem, id: "client-2026")
    var signer = MessageSigner(key: key, components: [.method, .targetURI, "x-request-id"])
    signer.lifetime = .seconds(60)
    configuration.steps.signers.append(signer)
}

func uploadToS3(_ session: Session, _ object: String, vault: any Vault) async throws -> String {
    var s3 = AWSSigner(region: "eu-central-1", service: "s3") { try await vault.credentials() }
    s3.payload = .chunked(checksum: .crc32c)
    let upload = Request(object, method: .put, body: .file("video.mp4")).withSteps { $0.signers.append(s3) }
    _ = try await session.request(upload).validate().data()
    let link = try await s3.presignedURL(for: object, expiringAfter: .seconds(3600))
    return link
}

func sendWebhook(_ session: Session, secret: [UInt8], order: [String: Int]) async throws {
    let webhook = HMACSigner(
        secret: secret, field: "X-Signature", covering: [.timestamp, ".", .method, " ", .target, "\n", .body],
        value: ["t=", .timestamp, ",v1=", .signature])
    let event = Request("https://hooks.example.com/orders", method: .post, body: try .json(order))
    _ = try await session.request(event.withSteps { $0.signers.append(webhook) }).validate().data()
}

func verifyResponses(_ session: Session, _ url: String, serverKey: SignatureKey) async throws -> String {
    struct Account: Decodable {}
    var verifier = MessageVerifier(requiring: [.status, "content-digest", .targetURI.ofRequest], key: serverKey)
    verifier.maximumAge = .seconds(60)
    let account = try await session.request(url).validate(.messageSignature(verifier)).decode(Account.self)
    let page = try await session.request(url).validate(.contentDigest(isRequired: true)).string()
    return "\(account) \(page)"
}
