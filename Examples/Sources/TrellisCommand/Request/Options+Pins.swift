import ArgumentParser
import Trellis

/// The options about the certificates of servers, besides the authorities.
struct PinOptions: ParsableArguments {
    @Option(
        name: .customLong("pin"), parsing: .unconditionalSingleValue,
        help: ArgumentHelp(
            "Fail unless one of the keys in the server's certificate chain has one of these pins, as --show-certificates prints them; "
                + "repeatable, or a list with semicolons. Without TLS, nothing is sent. With --insecure, the key of the server alone "
                + "counts.",
            valueName: "sha256//BASE64"),
        transform: { text in
            try accept {
                try text.utf8.split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false)
                    .map { try PublicKeyPin(String(Substring($0))) }
            }
        })
    var pins: [[PublicKeyPin]] = []

    @Flag(
        help:
            "Print the server's certificate chain with its pins on standard error; those that were sent if it is not trusted."
    )
    var showCertificates = false

    /// Returns the text about the certificates of a server; `nil` if it was not asked for.
    ///
    /// - Parameters:
    ///   - trust: The certificates; `nil` if there are none.
    ///   - isRefused: Whether the handshake has refused the server.
    func certificates(of trust: ServerTrust?, isRefused: Bool) -> String? {
        guard showCertificates else { return nil }
        return trust?.report(isRefused: isRefused) ?? "trellis: there are no certificates to show"
    }

    /// Adds the options to the configuration of connections, as the last network step: with pins, nothing is sent without TLS.
    ///
    /// - Parameter isInsecure: Whether nothing is verified.
    func apply(to configuration: inout SessionConfiguration, isInsecure: Bool) throws {
        configuration.collectsServerTrust = showCertificates
        guard !pins.isEmpty else { return }
        configuration.serverTrustManager = ServerTrustManager(
            everyHost: try PublicKeysTrustEvaluator(
                keys: Set(pins.joined()), allowsSinglePin: true, performDefaultValidation: !isInsecure))
        configuration.steps.network.append(TLSRequirement())
    }
}

/// The refusal of each request without TLS, in which no pin could be compared. It runs when a host that asks for https has got it, for
/// each retry and redirect, and for the handshake of a WebSocket.
private struct TLSRequirement: RequestStep {
    func send(_ request: Request, context: CallContext, next: NextStep) async throws -> StepResponse {
        guard request.url.hasScheme("https") else {
            throw RequestFailure(
                "pin_mismatch", "nothing was sent: without TLS, there is no certificate to compare with --pin")
        }
        return try await next(request)
    }
}

extension Client {
    /// Returns the text about the certificates of the last server; `nil` if it was not asked for.
    func certificates(of outcome: Outcome) -> String? {
        options.pinning.certificates(
            of: outcome.metrics.serverTrust, isRefused: outcome.failure?.kind == "untrusted")
    }
}

extension ServerTrust {
    /// The chain as text for people.
    ///
    /// - Parameter isRefused: Whether the handshake has refused the server.
    fileprivate func report(isRefused: Bool) -> String {
        let isWhole = isValidated ? "validated" : "not validated, so that only the server's own is shown"
        var lines = ["Certificates of \(host) (\(isRefused ? "NOT TRUSTED; as the server has sent them" : isWhole)):"]
        for (number, certificate) in (isRefused ? sentChain : chain).enumerated() {
            let names = certificate.subjectAlternativeNames.map(\.description).joined(separator: ", ")
            lines.append("\(number)  subject  \(certificate.subject)")
            lines.append("   issuer   \(certificate.issuer)")
            if !names.isEmpty { lines.append("   names    \(names)") }
            let validity = [certificate.notBefore, certificate.notAfter].map { $0.formatted(.iso8601) }
            lines.append("   valid    \(validity.joined(separator: " to "))")
            lines.append("   serial   \(certificate.serialNumber)")
            lines.append("   pin      \(certificate.publicKeyPin)")
        }
        return lines.joined(separator: "\n")
    }
}
