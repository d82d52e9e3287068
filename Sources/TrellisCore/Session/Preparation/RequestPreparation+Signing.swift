import CurlEngine
import HTTPTypes

/// The requests of signers: complete before their exchange is made.
extension RequestPreparation {
    /// Returns a request with the changes of its signers, which is sent as it is: with all fields, and with its body in its coding.
    func signed(
        _ request: Request, by signers: [any RequestSigner], in context: CallContext, sizes: FileSizes?
    ) async throws -> Request {
        var (request, wire, others) = try unsigned(request, sizes)
        for signer in signers {
            try context.call.checkCancellation()
            try await signer.sign(&wire, context: context)
        }
        for field in wire.headers where !Self.isOfConnection(field.name) { others.append(field) }
        request.headers = others
        return request
    }

    /// Returns a complete request, the part of it that signers see, and its fields that they do not see.
    private func unsigned(
        _ request: Request, _ sizes: FileSizes?
    ) throws(TrellisError) -> (Request, WireRequest, HTTPFields) {
        do throws(TrellisError) {
            if let failure = request.headers.invalidName ?? invalidDefaultName { throw .invalidFieldName(failure) }
            var request = request
            let url = try url(of: request)
            try Self.check(request)
            try Self.resolveBody(of: &request, defaults: defaultFields, sizes)
            request.compression = nil
            try complete(&request, url, hasLeft: false)
            if request.decodesContent ?? configuration.decodesContent, !request.headers.contains(.acceptEncoding) {
                request.headers.append(.acceptEncoding)
            }
            if let accept = configuration.accept, !request.headers.contains(.accept) {
                request.headers[.accept] = accept
            }
            request.isComplete = true
            let others = HTTPFields(request.headers.filter { Self.isOfConnection($0.name) })
            let host = others.first { $0.name.canonicalName == "host" }?.value
            request.headers = HTTPFields(request.headers.filter { !Self.isOfConnection($0.name) })
            let root = url.text.utf8.prefix(url.origin.utf8.count)
            let authority = host ?? String(Substring(root.dropFirst(url.scheme.utf8.count + 3)))
            let wire = WireRequest(request, scheme: url.scheme, authority: authority, RequestTarget(url))
            return (request, wire, others)
        } catch {
            throw error.naming(request)
        }
    }

    /// Returns whether a field frames the message or belongs to one connection (RFC 9110, section 7.6.1).
    private static func isOfConnection(_ name: HTTPField.Name) -> Bool {
        switch name.canonicalName {
        case "host", "content-length", "transfer-encoding", "trailer", "expect", "connection", "keep-alive",
            "proxy-connection", "te", "upgrade":
            true
        default: false
        }
    }
}

extension Request {
    /// Whether the fields and the body are complete, so that the session adds nothing to them.
    var isComplete: Bool {
        get { extras?.extras.isComplete ?? false }
        set { changeExtras { $0.isComplete = newValue } }
    }
}
