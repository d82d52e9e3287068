import CurlEngine
import FoundationEssentials
import TrellisCore

/// The answer of a device authorization endpoint (RFC 8628, section 3.2).
struct DeviceAuthorization: Sendable, RedactedDescription {
    let deviceCode: String
    let shown: OAuthDeviceCode
    let interval: Double?
    /// The longest URL that is shown, in bytes: a shortened one would lead elsewhere.
    static let longestURL = 2048

    init(_ value: JSONValue) throws(OAuthError) {
        guard let code = value["device_code"]?.stringValue, let user = value["user_code"]?.stringValue,
            let url = value["verification_uri"]?.stringValue ?? value["verification_url"]?.stringValue,
            let seconds = try TokenResponse.lifetime(value["expires_in"])
        else {
            throw .malformedResponse(reason: "it lacks a device_code, a user_code, a verification_uri or expires_in")
        }
        deviceCode = code
        interval = try TokenResponse.lifetime(value["interval"])
        // A person is led there: to a web page, and to nothing that a terminal or a browser would run.
        for text in [url, value["verification_uri_complete"]?.stringValue ?? url] {
            guard text.hasBytePrefix("https://") || text.hasBytePrefix("http://"),
                text.utf8.count <= Self.longestURL
            else { throw .malformedResponse(reason: "the verification_uri is no URL of a web page") }
        }
        shown = OAuthDeviceCode(
            userCode: ShownText.line(user), url: ShownText.line(url, upTo: Self.longestURL),
            completeURL: value["verification_uri_complete"]?.stringValue.map {
                ShownText.line($0, upTo: Self.longestURL)
            },
            lifetime: .seconds(min(seconds, 86400)))
    }
}

extension OAuthAuthenticator {
    /// Lets a person sign in on another device (RFC 8628).
    func signInWithDevice(
        at server: FoundServer, show: @Sendable (OAuthDeviceCode) async throws -> Void
    ) async throws -> OAuthToken {
        guard let url = server.urls.deviceAuthorization else {
            throw OAuthError.missingEndpoint(name: "device_authorization_endpoint")
        }
        var form = TokenForm()
        addScope(to: &form, server.urls)
        // The server wants to know for whom the code is (section 3.1), also of a client that proves itself in a field.
        if case .secretBasic = client.authentication { form.add("client_id", client.id) }
        let device = try DeviceAuthorization(
            try await server.endpoint.post(form, to: url, audience: server.urls.token))
        try await show(device.shown)
        var polling = DevicePolling(interval: device.interval, lifetime: min(device.shown.lifetime, signInTimeout))
        var decision = polling.begin()
        var failure: any Error = OAuthError.signInTimedOut
        while case .wait(let duration) = decision {
            try await server.endpoint.session.wait(for: duration)
            var question = TokenForm(grantType: "urn:ietf:params:oauth:grant-type:device_code")
            question.add("device_code", device.deviceCode, isSecret: true)
            let asked = now()
            do {
                let url = server.urls.token
                let answer = try await server.endpoint.post(question, to: url, audience: url, isRepeated: false)
                return try TokenResponse.token(answer, now: asked, issuer: server.urls.issuer)
            } catch {
                polling.spend(.seconds(now().timeIntervalSince(asked)))
                decision = polling.decide(after: error)
                let isPending = (error as? OAuthRefusal)?.code == "authorization_pending"
                if decision == .stop, !isPending { failure = error }
            }
        }
        throw failure
    }
}
