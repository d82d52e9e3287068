import CurlEngine

extension RequestPreparation {
    /// Returns the host whose certificates a request needs; `nil` if the server has no TLS. A host may ask for https (RFC 6797) before the
    /// request is sent.
    func tlsHost(of url: WireURL) -> String? { url.isSecure || configuration.hsts != nil ? url.host : nil }
}
