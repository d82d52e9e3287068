import FoundationEssentials
import Trellis

extension Options {
    /// The method before the URL: a word without a colon and without a slash, because every absolute URL contains one of these.
    var methodArgument: String? {
        guard target.count > 1, let first = target.first else { return nil }
        return first[...].cut(at: ":/") == nil ? first : nil
    }

    /// The URLs as written.
    var urls: [String] { methodArgument == nil ? target : Array(target.dropFirst()) }

    /// The URL, or the first of several.
    var url: String { urls.first ?? "" }

    /// The configuration of connections that the options describe.
    var sessionConfiguration: SessionConfiguration {
        var configuration = SessionConfiguration()
        configuration.tls =
            insecure
            ? .insecureWithoutAnyVerification() : TLSConfiguration(additionalCertificateAuthorityFile: cacert)
        trust.apply(to: &configuration.tls)
        configuration.route = names.route
        configuration.proxy = Self.proxyConfiguration(proxy, noProxy)
        configuration.resolver = names.resolver(trust, cacert: cacert, proxy: configuration.proxy)
        return configuration
    }

    /// Returns the proxies: that of the options, or else those of the environment.
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
        try pinning.apply(to: &configuration, isInsecure: insecure)
        return configuration
    }

    /// Returns the request that the options describe, for the first URL unless one is given.
    ///
    /// - Throws: ``RequestFailure`` for an option that a request cannot express.
    func makeRequest(_ url: String? = nil) throws -> Request {
        var request = Request(url ?? self.url, method: try requestMethod()).addingQuery(query.items)
        for header in headers { request.headers.append(try header.field()) }
        if json != nil, !request.headers.contains(.accept) {
            // A client that sends JSON prefers JSON, but accepts any type.
            request.headers[.accept] = "application/json, */*;q=0.5"
        }
        request.body = try makeBody()
        request.cacheMode = caching.cacheMode ?? .default
        request.compression = compress ? .gzip : nil
        // The download of an encoded body cannot be resumed: a file is requested without a content coding.
        request.decodesContent = noDecompress ? false : output == nil ? true : nil
        // Files and streams have no default limit.
        request.maximumBodySize = maxBody.map { .bytes($0) } ?? .unlimited
        let idle = limit(idleTimeout)
        request.timeouts = Timeouts(
            connect: limit(connectTimeout), responseHead: idle, idle: idle, total: deadline.map { .seconds($0) })
        request.httpVersion = http.policy
        return request
    }

    private func limit(_ seconds: Double) -> Duration? { seconds > 0 ? .seconds(seconds) : nil }

    /// Returns the method of `-X` as written; before the URL, `get` means `GET`.
    private func requestMethod() throws -> HTTPRequest.Method {
        var name = head ? "HEAD" : hasBody ? "POST" : "GET"
        if let method {
            name = method
        } else if let word = methodArgument {
            name = Self.usualMethod(word) ?? word
        }
        guard let method = HTTPRequest.Method(name) else {
            throw RequestFailure("invalid_request", "'\(name)' cannot be a method")
        }
        return method
    }

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
