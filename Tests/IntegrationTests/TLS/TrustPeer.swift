import Foundation
import Testing
import Trellis
import TrellisTesting

/// The servers of `trust.py`.
enum TrustPeer {
    static let started = Peer.started("trust.py")
    static let passphrase = "pa:ss wörd"

    /// Returns the path of a file of the peer.
    static func file(_ name: String) async throws -> String {
        let folder = URL(filePath: try await started.value.announcement.ca).deletingLastPathComponent()
        return folder.appending(path: name).path
    }

    /// Returns a configuration that trusts the peer.
    static func tls() async throws -> TLSConfiguration {
        TLSConfiguration(authorities: .only([.file(try await started.value.announcement.ca)]))
    }

    /// Returns a session with one engine, and so one connection for requests one after another.
    ///
    /// - Parameter clock: The clock of the session; `nil` for the system's.
    static func session(_ tls: TLSConfiguration, clock: TestClock? = nil) -> Session {
        var configuration = SessionConfiguration()
        configuration.engines = .one
        configuration.tls = tls
        return clock.map { Session(configuration: configuration, clock: $0) } ?? Session(configuration: configuration)
    }

    /// Returns the response of a server of the peer to a new session.
    static func answer(
        from port: String, host: String = "127.0.0.1", _ tls: TLSConfiguration
    ) async throws -> String {
        let session = session(tls)
        do {
            let text = try await session.string(started.value.url(port, host: host))
            await session.shutdown()
            return text
        } catch {
            await session.shutdown()
            throw error
        }
    }

    /// Returns the error of a request on a new session, after checks that hold for all failures of trust.
    static func failure(
        _ kind: TrellisError.Kind, from port: String, host: String = "127.0.0.1", _ tls: TLSConfiguration,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> TrellisError {
        let error = try #require(
            await expectFailure([kind], sourceLocation) { try await answer(from: port, host: host, tls) },
            sourceLocation: sourceLocation)
        #expect(!error.isRetryable, "\(error)", sourceLocation: sourceLocation)
        return error
    }
}

extension TrellisError {
    /// The certificate because of which the peer is not trusted.
    var untrusted: UntrustedCertificate? {
        if case .securityFailed(.untrusted(let certificate)) = reason { certificate } else { nil }
    }

    /// The failure of the client's certificate.
    var identityFailure: ClientIdentityFailure? {
        if case .securityFailed(.clientIdentity(let failure)) = reason { failure } else { nil }
    }
}
