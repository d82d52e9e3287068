import CURLSyntax
import FoundationEssentials
import Trellis

extension Options {
    /// The method, if any, and the URLs, as written.
    var commandTarget: CommandTarget { CommandTarget(target) }

    /// The URLs, with `http` where they have no scheme.
    var urls: [String] { commandTarget.urls.map(CommandTarget.completed) }

    /// The URL, or the first of several.
    var url: String { urls.first ?? "" }

    /// The configuration of connections that the options describe.
    var sessionConfiguration: SessionConfiguration {
        var configuration = SessionConfiguration()
        configuration.tls =
            tls.insecure
            ? .insecureWithoutAnyVerification() : TLSConfiguration(additionalCertificateAuthorityFile: tls.cacert)
        trust.apply(to: &configuration.tls)
        configuration.route = names.route
        configuration.egress = names.egressPolicy
        configuration.proxy = Self.proxyConfiguration(proxies.proxy?.with(proxies.proxyUser), proxies.noProxy)
        configuration.resolver = names.resolver(trust, cacert: tls.cacert, proxy: configuration.proxy)
        return configuration
    }

    /// Returns the proxy of the options, or else the proxies of the environment.
    static func proxyConfiguration(_ proxy: ProxyArgument?, _ noProxy: String?) -> ProxyConfiguration {
        if let proxy {
            return proxy.proxy.map { .always($0, except: ProxyExceptions(noProxy ?? "")) } ?? .direct
        }
        var variables = ProcessInfo.processInfo.environment
        if let noProxy { (variables["no_proxy"], variables["NO_PROXY"]) = (noProxy, nil) }
        return .environment(ProxyEnvironment(variables))
    }

    /// Returns the configuration of connections, with the steps that surround each request.
    ///
    /// - Throws: `TrellisError` if the process cannot compute pins.
    func sessionConfiguration(_ steps: Steps) throws -> SessionConfiguration {
        var configuration = sessionConfiguration
        configuration.steps = steps
        let removed = removedNames
        if removed.contains(.userAgent) { configuration.userAgent = nil }
        if removed.contains(.accept) { configuration.accept = nil }
        if removed.contains(.acceptLanguage) { configuration.acceptLanguage = nil }
        if let rate = limits.limitRate {
            let limit = BandwidthLimit(bytesPerSecond: rate.bytes)
            configuration.bandwidth = BandwidthLimits(upload: limit, download: limit)
        }
        if let proto = tls.proto { configuration.steps.network.append(SchemeRequirement(schemes: proto.schemes)) }
        try pinning.apply(to: &configuration, isInsecure: tls.insecure)
        return configuration
    }

    /// Returns the request that the options describe, for the first URL unless one is given.
    ///
    /// - Throws: ``RequestFailure`` for an option that a request cannot express.
    func makeRequest(_ url: String? = nil) throws -> Request {
        let body = try makeBody()
        let address = try uploadURL(try addingData(to: url ?? self.url))
        var request = Request(address, method: try requestMethod(hasBody: body != nil))
        for argument in content.query {
            switch argument {
            case .item(let item): request = request.addingQuery([item].items)
            case .text(let text): request.url = Self.adding(text, toQueryOf: request.url)
            }
        }
        for header in headers where !header.isRemoval { request.headers.append(try header.field()) }
        if let condition = places.timeCondition?.field { request.headers.append(condition) }
        let removed = removedNames
        if content.json != nil, !removed.contains(.accept), !request.headers.contains(.accept) {
            // A client that sends JSON prefers JSON, but accepts any type.
            request.headers[.accept] = "application/json, */*;q=0.5"
        }
        request.body = body
        if removed.contains(.contentType) { request.body?.contentType = nil }
        request.cacheMode = caching.cacheMode ?? .default
        request.compression = content.compress ? .gzip : nil
        // The download of an encoded body cannot be resumed: a file is requested without a content coding.
        let isDecoded = !places.noDecompress && !removed.contains(.acceptEncoding)
        request.decodesContent = !isDecoded ? false : places.output == nil ? true : nil
        // Files and streams have no default limit.
        request.maximumBodySize = limits.maxBody.map { .bytes($0) } ?? .unlimited
        let idle = limit(limits.idleTimeout)
        request.timeouts = Timeouts(
            connect: limit(limits.connectTimeout), responseHead: idle, idle: idle,
            total: limits.deadline.map { .seconds($0) })
        if pathAsIs {
            // A URL that is sent unchanged has no fragment.
            request.url = String(request.url[...].before("#"))
            request.sendsURLUnchanged = true
        }
        request.httpVersion = http.policy(for: address)
        return request
    }

    private func limit(_ seconds: Double) -> Duration? { seconds > 0 ? .seconds(seconds) : nil }

    /// Returns the method of `-X` as written; before the URL, `get` means `GET`.
    private func requestMethod(hasBody: Bool) throws -> HTTPRequest.Method {
        var name = head ? "HEAD" : content.uploadFile != nil ? "PUT" : hasBody ? "POST" : "GET"
        if let method {
            name = method
        } else if let word = commandTarget.method {
            name = Self.usualMethod(word) ?? word
        }
        guard let method = HTTPRequest.Method(name) else {
            throw RequestFailure("invalid_request", "'\(name)' cannot be a method")
        }
        return method
    }

    /// The names of the fields that `-H 'Name:'` leaves out.
    var removedNames: Set<HTTPField.Name> { Set(headers.filter(\.isRemoval).compactMap { HTTPField.Name($0.name) }) }

    /// Returns the usual method with a name in any case.
    static func usualMethod(_ name: String) -> String? {
        let names = ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "TRACE", "PATCH", "QUERY"]
        return names.first { $0.lowercasedASCII() == name.lowercasedASCII() }
    }
}

extension HeaderLine {
    /// Returns the field. A line break in the value is an error here, while `HTTPField` would replace it by a space.
    ///
    /// - Throws: ``RequestFailure`` for a name or a value that a field cannot have.
    func field() throws -> HTTPField {
        guard let fieldName = HTTPField.Name(name) else {
            throw RequestFailure("invalid_request", "'\(name)' cannot be the name of a header field")
        }
        guard HTTPField.isValidValue(value) else {
            throw RequestFailure("invalid_request", "the header field \(name) holds bytes that no field may hold")
        }
        return HTTPField(name: fieldName, value: value)
    }
}
