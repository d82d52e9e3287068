package import CurlEngine
import HTTPTypes

/// The URLs and fields of requests before they are sent, and the complete requests that signers get.
extension RequestPreparation {
    /// Returns the URL of a request.
    package func url(of request: Request) throws(TrellisError) -> WireURL {
        do throws(WireURL.ParseFailure) {
            return try urls.url(parsing: request.url, unchanged: request.sendsURLUnchanged)
        } catch {
            throw .unusableURL(request.url, error, isWebSocket: request.headers.contains(.secWebSocketKey))
        }
    }

    /// Throws the error of a request that could not be sent whatever its session's state is, because of its URL, its method or its fields.
    func checkBeforeStart(_ request: Request) throws {
        if let failure = request.conversionFailure { throw failure }
        let whole = try completingURL(of: request)
        do throws(TrellisError) {
            _ = try url(of: whole)
            try Self.check(whole)
            if let name = request.headers.invalidName ?? invalidDefaultName { throw .invalidFieldName(name) }
        } catch {
            throw error.naming(request)
        }
    }

    /// Returns a request that has passed a cache with the session's default fields.
    package func completed(_ request: Request, _ url: WireURL, hasLeft: Bool) -> Request {
        if request.body == nil, hasDefaultFields(request, url, hasLeft: hasLeft) {
            return TransportRequest.joined(request, with: defaultFields)
        }
        var completed = request
        // A request that cannot be completed does not get as far as the cache.
        try? complete(&completed, url, hasLeft: hasLeft)
        return completed
    }

    /// Returns whether a request without a body is sent with the session's default fields alone.
    package func hasDefaultFields(_ request: Request, _ url: WireURL, hasLeft: Bool) -> Bool {
        request.headers.isEmpty && !hasLeft && url.user == nil
            && request.decodesContent ?? configuration.decodesContent == configuration.decodesContent
    }

    /// Returns the fields with which a request would be sent, apart from those that describe its body's framing.
    ///
    /// - Parameter hasLeft: Whether a redirect has led to an origin that the session's secrets are not meant for.
    package func fields(of request: Request, _ url: WireURL, hasLeft: Bool) throws(TrellisError) -> HTTPFields {
        var completed = request
        try complete(&completed, url, hasLeft: hasLeft)
        var fields = completed.headers
        let decodes = request.decodesContent ?? configuration.decodesContent
        if decodes, !fields.contains(.acceptEncoding) { fields.append(.acceptEncoding) }
        return fields
    }

    // MARK: Signers

    /// Returns a request with the changes of its signers, which is sent as it is: with all fields, and with its body in its coding.
    func signed(
        _ request: Request, by signers: [any RequestSigner], in context: CallContext, sizes: FileSizes?
    ) async throws -> Request {
        var (request, wire, others) = try unsigned(request, sizes)
        // What the deadline's field says is known only after the signers.
        if let field = limits(of: request, delivery: context.call.delivery).deadlineField, context.call.limit != nil {
            wire.headers[field.name] = nil
        }
        for signer in signers {
            try context.call.checkCancellation()
            try await signer.sign(&wire, context: context)
        }
        for field in wire.headers where !Self.isOfConnection(field.name) { others.append(field) }
        request.headers = others
        request.body = wire.body
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
            try request.resolveBody(defaults: defaultFields, sizes: sizes)
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
            return (request, WireRequest(request, to: url, host: host), others)
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

extension HeaderLines {
    /// Adds a field. Returns `false` if a byte of the field would end its line.
    mutating func append(_ field: HTTPField) -> Bool {
        let name = field.name.rawName
        if let octets = field.octetsBeyondUTF8 { return append(name: name, value: octets) }
        // A cookie is sent back with the same octets that were received.
        return field.name == .cookie && OctetText.hasOctets(field.value)
            ? append(name: name, value: OctetText.octets(field.value)) : append(name: name, value: field.value)
    }
}

extension HTTPField {
    /// The `Accept-Encoding` field with the codings that can be decoded at run time.
    static let acceptEncoding = HTTPField(
        name: .acceptEncoding, value: ContentCoding.accepted.joined(separator: ", "))
}

extension TrellisError {
    /// The error of a request that has credentials for a proxy among its fields.
    static var proxyCredentials: TrellisError {
        var error = TrellisError(.invalidRequest(.headerField(HTTPField.Name.proxyAuthorization.rawName)))
        error.detail = "credentials for a proxy belong into its Proxy, so that no origin gets them"
        return error
    }
}

extension Request {
    /// Whether the fields and the body are complete, so that the session adds nothing to them.
    var isComplete: Bool {
        get { extras?.extras.isComplete ?? false }
        set { changeExtras { $0.isComplete = newValue } }
    }
}
