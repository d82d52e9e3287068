import CurlEngine
import FoundationEssentials
import HTTPTypes
public import TrellisCore

extension Request {
    /// Returns a command line for a POSIX shell with which curl sends the same request.
    ///
    /// ```swift
    /// print(request.cURLDescription())
    /// // curl --request PUT --header 'Authorization: Bearer REDACTED' --data-binary @photo.jpg https://example.com/photo
    /// ```
    ///
    /// The command line can be given to `sh` as it is: every argument is quoted so that its bytes arrive unchanged. A body in
    /// memory is an argument if it is text, and is read from `printf` through a pipe otherwise; a compressed body goes through
    /// `gzip`, `zstd`, `brotli` or `pigz --zlib`. A file is `@path`, a form is `--form`. A comment after the command lists the
    /// details that curl's options cannot express.
    ///
    /// - Parameter options: The settings of the session, and the choice whether secrets are shown.
    ///   ``Session/cURLDescription(of:_:)`` fills in the settings.
    public func cURLDescription(_ options: CURLDescriptionOptions = CURLDescriptionOptions()) -> String {
        var command = CURLCommand()
        let body = CURLBody(self, options)
        addVersion(to: &command, options)
        addMethod(to: &command)
        addFields(to: &command, options, body)
        if decodesContent ?? options.decodesContent { command.add("--compressed") }
        addTimeouts(to: &command, options)
        addExtras(to: &command, options)
        for argument in options.furtherArguments { command.add(argument) }
        command.add(cURLRoute(options))
        body.add(to: &command)
        addURL(to: &command, options)
        command.remarks += options.furtherRemarks
        return command.text(isMultiline: options.isMultiline)
    }

    private func addVersion(to command: inout CURLCommand, _ options: CURLDescriptionOptions) {
        switch httpVersion ?? options.httpVersion {
        case .automatic: break
        case .http1Only: command.add("--http1.1")
        case .http2:
            command.add("--http2")
            command.remarks.append("curl falls back to HTTP/1.1 where the server does not agree on HTTP/2")
        case .http2PriorKnowledge: command.add("--http2-prior-knowledge")
        case .http3Preferred: command.add("--http3")
        case .http3Only: command.add("--http3-only")
        }
    }

    private func addMethod(to command: inout CURLCommand) {
        // curl sends POST if there is a body, and GET if there is none.
        switch method {
        case .head where body == nil: command.add("--head")
        case .get where body == nil, .post: break
        default: command.add("--request", method.rawValue)
        }
    }

    private func addFields(to command: inout CURLCommand, _ options: CURLDescriptionOptions, _ body: CURLBody) {
        var fields = headers
        let hasOwnType = self.body?.contentType != nil
        for field in options.defaultHeaders where !headers.contains(field.name) {
            if !hasOwnType || field.name != .contentType { fields.append(field) }
        }
        if bodyWait != nil { fields[.expect] = "100-continue" }
        if let coding = body.contentEncoding { fields[.contentEncoding] = coding }
        if !fields.contains(.contentType), let type = body.contentType { fields[.contentType] = type }
        if !options.revealsSecrets, !fields.contains(.authorization), URLRedaction.hasUserInformation(url) {
            fields[.authorization] = "Basic REDACTED"
        }
        if fields.invalidName != nil {
            command.remarks.append("a field whose name is invalid is left out: the request cannot be sent")
        }
        for field in fields.withoutInvalidNames where field.name != .contentLength && field.name != .transferEncoding {
            let value = options.revealsSecrets ? field.value : SecretFields.redacted(field)
            // curl would leave out a field with a colon and no value.
            command.add("--header", value.isEmpty ? "\(field.name.rawName);" : "\(field.name.rawName): \(value)")
        }
        // curl would add a type of its own.
        if body.needsTypeSuppressed, !fields.contains(.contentType) { command.add("--header", "Content-Type:") }
    }

    private func addTimeouts(to command: inout CURLCommand, _ options: CURLDescriptionOptions) {
        guard timeouts != nil || options.timeouts != nil else { return }
        let timeouts = (timeouts ?? Timeouts()).completed(by: options.timeouts ?? Timeouts())
        if let connect = timeouts.connect { command.add("--connect-timeout", connect.secondsText) }
        if let idle = timeouts.idle {
            command.add("--speed-limit", "1")
            command.add("--speed-time", "\(max(1, idle.roundedUpSeconds))")
        }
        if let total = timeouts.total(hasDefault: !isUpload) { command.add("--max-time", total.secondsText) }
    }

    private func addExtras(to command: inout CURLCommand, _ options: CURLDescriptionOptions) {
        if sendsURLUnchanged { command.add("--path-as-is") }
        if let bodyWait { command.add("--expect100-timeout", bodyWait.secondsText) }
        if case .bytes(let limit)? = maximumBodySize {
            // curl treats 0 as no limit.
            if limit > 0 {
                command.add("--max-filesize", "\(limit)")
            } else {
                command.remarks.append("curl cannot refuse every body")
            }
        }
        var rates = [bandwidth.download, options.bandwidth.download]
        if body != nil { rates += [bandwidth.upload, options.bandwidth.upload] }
        let known = rates.compactMap { $0?.bytesPerSecond }
        guard let rate = known.min() else { return }
        command.add("--limit-rate", "\(rate)")
        if Set(known).count > 1 { command.remarks.append("curl limits both directions alike") }
    }

    private func addURL(to command: inout CURLCommand, _ options: CURLDescriptionOptions) {
        let shown = options.revealsSecrets ? String(url.prefix(beforeBytes: "#")) : URLRedaction.redact(url)
        let url = shown.percentEncodedForCURL
        if url.utf8.contains(where: { "[]{}".utf8.contains($0) }) { command.add("--globoff") }
        if url.isEmpty || url.hasBytePrefix("-") { command.add("--url", url) } else { command.add(url) }
    }
}

extension Duration {
    /// The duration in seconds as text, with milliseconds if there are any.
    fileprivate var secondsText: String {
        let milliseconds = components.attoseconds / 1_000_000_000_000_000
        guard milliseconds != 0 else { return "\(components.seconds)" }
        return "\(components.seconds).\("\(1000 + milliseconds)".dropFirst())"
    }

    /// The number of seconds, rounded up.
    fileprivate var roundedUpSeconds: Int64 {
        let (seconds, attoseconds) = components
        return attoseconds > 0 && seconds < .max ? seconds + 1 : seconds
    }
}

extension String {
    /// The URL with spaces, control characters and non-ASCII bytes after the host percent-encoded, because curl does not accept
    /// them.
    fileprivate var percentEncodedForCURL: String {
        let start = utf8.firstRange(of: "://".utf8)?.upperBound ?? startIndex
        let path = self[start...].prefix(beforeBytes: "/?").endIndex
        var result = [UInt8](self[..<path].utf8)
        for byte in self[path...].utf8 {
            if 0x21..<0x7F ~= byte {
                result.append(byte)
            } else {
                let digits = Array("0123456789ABCDEF".utf8)
                result += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: result, as: UTF8.self)
    }
}
