import CurlEngine
import TrellisCore

/// The endpoints of a server, which are found once, and the place of a resource's metadata, which its challenges name.
final class DiscoveredEndpoints: Sendable {
    private struct State {
        var endpoints: OAuthEndpoints?
        var metadataURL: String?
        /// The issuer that was found first.
        var issuer: String?
    }

    private let state = Locked(State())

    /// Takes note of the challenges of a refusal. Another place of the metadata than before makes the endpoints be found anew.
    func note(_ challenges: [AuthenticationChallenge]) {
        guard let url = challenges.lazy.compactMap({ $0.parameters["resource_metadata"] }).first else { return }
        state.withLock { state in
            guard state.metadataURL.map({ $0.hasSameBytes(as: url) }) != true else { return }
            (state.endpoints, state.metadataURL) = (nil, url)
        }
    }

    /// Returns the endpoints of a server, from its metadata if they are not known.
    func endpoints(of server: OAuthServer, with endpoint: OAuthEndpoint) async throws -> OAuthEndpoints {
        if case .endpoints(let endpoints) = server.location { return endpoints }
        let known = state.withLock { $0 }
        if let endpoints = known.endpoints { return endpoints }
        let found: OAuthEndpoints
        switch server.location {
        case .endpoints(let endpoints): found = endpoints
        case .issuer(let issuer): found = try await Self.metadata(of: issuer, with: endpoint)
        case .protectedResource(let resource):
            let (issuer, identifier) = try await Self.server(of: resource, metadata: known.metadataURL, with: endpoint)
            // A refusal must not lead the client's secrets to another server than the first.
            if let first = known.issuer, !first.hasSameBytes(as: issuer) {
                state.withLock { $0.metadataURL = nil }
                throw OAuthError.foreignMetadata(asked: ShownText.url(first), found: ShownText.url(issuer))
            }
            var endpoints = try await Self.metadata(of: issuer, with: endpoint)
            endpoints.resource = identifier
            found = endpoints
        }
        state.withLock { ($0.endpoints, $0.issuer) = (found, found.issuer) }
        return found
    }

    // MARK: The authorization server

    /// Returns the endpoints in the metadata of an issuer (RFC 8414, section 3).
    private static func metadata(of issuer: String, with endpoint: OAuthEndpoint) async throws -> OAuthEndpoints {
        for url in try WellKnownURL.metadata(ofIssuer: issuer) {
            if let value = try await endpoint.metadata(url) { return try endpoints(value, of: issuer) }
        }
        throw OAuthError.missingEndpoint(name: "metadata")
    }

    /// Returns the endpoints in a server's metadata.
    static func endpoints(_ value: JSONValue, of issuer: String) throws(OAuthError) -> OAuthEndpoints {
        let named = value["issuer"]?.stringValue ?? ""
        // Otherwise, a server could send the client to another one, with whose tokens it is mixed up (RFC 8414, section 6.2).
        guard named.hasSameBytes(as: issuer) else {
            throw .foreignMetadata(asked: ShownText.url(issuer), found: ShownText.url(named))
        }
        guard let token = value["token_endpoint"]?.stringValue else { throw .missingEndpoint(name: "token_endpoint") }
        var found = OAuthEndpoints(
            token: token, authorization: value["authorization_endpoint"]?.stringValue,
            deviceAuthorization: value["device_authorization_endpoint"]?.stringValue, issuer: issuer)
        found.sendsIssuer = value["authorization_response_iss_parameter_supported"] == .bool(true)
        for url in [token, found.authorization, found.deviceAuthorization].compactMap(\.self) {
            try SecureURL.check(url, namedBy: issuer)
        }
        return found
    }

    // MARK: The resource

    /// Returns the issuer that a resource names, and the resource's identifier (RFC 9728).
    private static func server(
        of resource: String, metadata known: String?, with endpoint: OAuthEndpoint
    ) async throws -> (issuer: String, identifier: String) {
        if let known {
            try SecureURL.check(known, namedBy: resource)
            return try server(try await endpoint.metadata(known), of: resource)
        }
        if let value = try await endpoint.metadata(try WellKnownURL.metadata(ofResource: resource)) {
            return try server(value, of: resource)
        }
        // The metadata is elsewhere. The challenge of a request without a token names the place.
        let challenges = try await endpoint.probe(resource).authenticationChallenges
        guard let url = challenges.lazy.compactMap({ $0.parameters["resource_metadata"] }).first else {
            throw OAuthError.missingEndpoint(name: "resource_metadata")
        }
        try SecureURL.check(url, namedBy: resource)
        return try server(try await endpoint.metadata(url), of: resource)
    }

    /// Returns the issuer and the identifier in a resource's metadata.
    static func server(
        _ value: JSONValue?, of resource: String
    ) throws(OAuthError) -> (issuer: String, identifier: String) {
        guard let value else { throw .missingEndpoint(name: "resource_metadata") }
        let identifier = value["resource"]?.stringValue ?? ""
        guard WellKnownURL.isResource(identifier, of: resource) else {
            throw .foreignMetadata(asked: ShownText.url(resource), found: ShownText.url(identifier))
        }
        guard let issuer = value["authorization_servers"]?[0]?.stringValue else {
            throw .missingEndpoint(name: "authorization_servers")
        }
        try SecureURL.check(issuer, namedBy: resource)
        return (issuer, identifier)
    }
}
