import CURLSyntax
import TerminalKit
import Trellis

/// The text of `--write-out`, with the values of a run.
struct WriteOut {
    let template: WriteOutTemplate

    /// Reads the argument: a text, or `@FILE`.
    ///
    /// - Throws: ``RequestFailure`` for a file that cannot be read.
    init(_ argument: String) throws {
        guard let path = argument[...].after("@").map(String.init) else {
            template = WriteOutTemplate(argument)
            return
        }
        do { template = WriteOutTemplate(String(decoding: try FormText.contents(of: path), as: UTF8.self)) } catch {
            throw RequestFailure("file", "\(error)")
        }
    }

    /// Returns the texts for standard output and standard error.
    ///
    /// - Parameters:
    ///   - size: The number of bytes of the body, decoded.
    ///   - path: The file of the body, if any.
    ///   - sent: The number of bytes of the request's body.
    func texts(on outcome: Outcome, size: Int64, path: String?, sent: Int64) -> (output: String, errors: String) {
        var texts = (output: "", errors: ""), goesToOutput = true
        for piece in template.pieces {
            let text: String
            switch piece {
            case .standardError, .standardOutput:
                goesToOutput = piece == .standardOutput
                continue
            case .text(let plain): text = plain
            case .header(let name): text = HTTPField.Name(name).flatMap { outcome.response?.headers[$0] } ?? ""
            case .variable("size_upload"): text = "\(sent)"
            case .variable(let name): text = value(of: name, outcome, size, path) ?? ""
            }
            if goesToOutput { texts.output += text } else { texts.errors += text }
        }
        return texts
    }

    /// Returns the value of a variable; `nil` for one that has none here.
    private func value(of name: String, _ outcome: Outcome, _ size: Int64, _ path: String?) -> String? {
        let (metrics, response) = (outcome.metrics, outcome.response)
        let opened = metrics.queued + metrics.nameLookup
        let peer = metrics.peerAddress.flatMap { text in
            text.lastIndex(of: ":").map { (text[..<$0], text[text.index(after: $0)...]) }
        }
        return switch name {
        case "http_code", "response_code": response.map { "\($0.status.code)" } ?? "000"
        case "http_version": response?.version.rawValue ?? "0"
        case "content_type": response?.headers[.contentType]
        case "url_effective", "url": outcome.url
        case "scheme": outcome.url[...].cut(at: ":").map { String($0.before) }
        case "num_redirects": "\((response?.redirects ?? outcome.failure?.redirects ?? []).count)"
        case "redirect_url":
            response.flatMap { 300..<400 ~= $0.status.code ? $0.headers[.location] : nil }
                .map { URL(string: $0, relativeTo: URL(string: outcome.url))?.absoluteString ?? $0 }
        case "num_connects": metrics.isReusedConnection ? "0" : "1"
        case "num_headers": response.map { "\($0.headers.count)" }
        case "num_retries": "\(max(0, metrics.attemptCount - 1))"
        case "size_download": "\(size)"
        case "size_request": "\(metrics.bytesSent)"
        case "speed_download": "\(metrics.total.inSeconds > 0 ? Int64(Double(size) / metrics.total.inSeconds) : 0)"
        case "time_queue": metrics.queued.microseconds
        case "time_namelookup": opened.microseconds
        case "time_connect": (opened + metrics.connect).microseconds
        case "time_appconnect":
            metrics.tls > .zero ? (opened + metrics.connect + metrics.tls).microseconds : Duration.zero.microseconds
        case "time_pretransfer": (opened + metrics.connect + metrics.tls).microseconds
        case "time_starttransfer": metrics.firstByte.microseconds
        case "time_total": metrics.total.microseconds
        case "remote_ip": peer.map { String($0.0) }?.trimmingBrackets
        case "remote_port": peer.map { String($0.1) }
        case "filename_effective": path
        case "errormsg": outcome.failure?.message
        case "exitcode": "\(outcome.exitStatus)"
        case "ssl_verify_result": outcome.failure?.kind == "untrusted" ? "1" : "0"
        default: nil
        }
    }
}

extension Client {
    /// Prints the text of `--write-out`, if it was asked for.
    func writeOut(_ outcome: Outcome, size: Int64, path: String? = nil) async {
        guard let argument = options.places.writeOut, let writeOut = try? WriteOut(argument) else { return }
        let sent = await wire?.bodySize(of: outcome.metrics.callID) ?? 0
        let texts = writeOut.texts(on: outcome, size: size, path: path, sent: sent)
        if !texts.output.isEmpty { try? await StandardOutput.write(texts.output) }
        if !texts.errors.isEmpty { Terminal.error.print(texts.errors, terminator: "") }
    }
}

extension Duration {
    /// The seconds with six digits after the point, as curl prints them.
    fileprivate var microseconds: String {
        let total = max(0, Int64(inSeconds * 1_000_000))
        let rest = String(total % 1_000_000)
        return "\(total / 1_000_000).\(String(repeating: "0", count: 6 - rest.count))\(rest)"
    }
}

extension String {
    /// The text of an IPv6 address without its brackets.
    fileprivate var trimmingBrackets: String {
        hasPrefix("[") && hasSuffix("]") ? String(dropFirst().dropLast()) : self
    }
}
