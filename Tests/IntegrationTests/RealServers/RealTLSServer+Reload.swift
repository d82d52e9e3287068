import Testing
import Trellis

/// Sessions whose files of certificates change.
extension RealTLSServer {
    /// Returns a session that looks for changes of its files before each request.
    func reloadingSession(
        _ monitors: [any EventMonitor] = [], _ change: (inout TLSConfiguration) -> Void
    ) throws -> Session {
        try session {
            $0.tls.fileCheckInterval = .zero
            $0.eventMonitors = monitors
            change(&$0.tls)
        }
    }

    /// Returns the first response with another beginning than the earlier ones, once a change of the files shows.
    func string(_ session: Session, _ request: Request, after earlier: String) async throws -> String {
        while true {
            let text = try await session.string(request)
            if !text.hasPrefix(earlier) { return text }
            try Task.checkCancellation()
        }
    }

    /// Sends requests until their server is trusted, and gets a response of nginx.
    func becomesTrusted(
        _ session: Session, _ request: Request, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        while true {
            do {
                let text = try await session.string(request)
                #expect(text.hasPrefix("TLSv1.3 "), sourceLocation: sourceLocation)
                return
            } catch let error as TrellisError where error.untrusted != nil {
                try Task.checkCancellation()
            }
        }
    }

    /// Returns a request to a host of nginx.
    static func request(_ host: String, _ version: HTTPVersionPolicy, _ path: String = "/") -> Request {
        var request = Request("https://\(host).example\(path)")
        request.httpVersion = version
        return request
    }

    /// The files of a client certificate and of its key.
    struct ClientFiles: Sendable {
        let certificate: String
        let key: String

        var identity: ClientIdentity { ClientIdentity(certificate: .file(certificate), key: .file(key)) }
    }

    /// Returns files with the certificate and the key of `ada`.
    func clientFiles(in folder: String) throws -> ClientFiles {
        let files = ClientFiles(certificate: "\(folder)/client.pem", key: "\(folder)/client.key")
        try copy("ada.chain", to: files.certificate)
        try copy("ada.key", to: files.key)
        return files
    }
}
