import CurlEngine
import FoundationEssentials
import HTTPTypes
import Testing

@testable import TrellisCore

/// A signer of everything that is on the wire, and the check of a server.
struct Seal: RequestSigner {
    /// The targets that were signed, in order.
    let signed = Locked<[String]>([])

    func sign(_ request: inout WireRequest, context: CallContext) async throws {
        let body = try await request.body?.collect(upTo: 1 << 20) ?? Data()
        let number = signed.withLock { signed in
            signed.append("\(request.authority)\(request.target)")
            return signed.count
        }
        request.headers["Date-Of-Seal"] = "\(number)"
        request.headers["Content-Digest"] = "sha-256=:\(Self.digest(body)):"
        request.headers["Seal"] = Self.seal(
            request.method.rawValue, request.authority, request.target, request.headers, body)
    }

    /// Returns whether a request has the seal of its bytes.
    static func isIntact(
        _ method: String, _ authority: String, _ target: String, _ fields: HTTPFields, _ body: Data
    ) -> Bool {
        guard let seal = fields["Seal"] else { return false }
        var fields = fields
        fields["Seal"] = nil
        return seal == Self.seal(method, authority, target, fields, body)
    }

    private static func seal(
        _ method: String, _ authority: String, _ target: String, _ fields: HTTPFields, _ body: Data
    ) -> String {
        let framing = ["host", "content-length", "transfer-encoding", "expect", "connection"]
        let lines = fields.map { "\($0.name.canonicalName): \($0.value)" }.sorted()
            .filter { line in !framing.contains { line.hasPrefix("\($0):") } }
        let text = ["key", method, authority, target, digest(body)] + lines
        return MessageDigest.hash(text.joined(separator: "\n"), .sha256) ?? "none"
    }

    static func digest(_ body: Data) -> String {
        let digest = MessageDigest(.sha256)
        digest?.update(body)
        return Data(digest?.finishBytes() ?? []).base64EncodedString()
    }
}
