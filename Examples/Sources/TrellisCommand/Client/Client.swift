import TerminalKit
import Trellis

/// A run of the client: one request from the command line to the end of its response.
struct Client {
    let options: Options
    let upgrades: UpgradeStores
    /// The storage of the cache; `nil` without one.
    let cache: DiskCacheStorage?
    /// The warning that the cache cannot be used; `nil` without one.
    let cacheWarning: CacheWarning?
    /// The recorder of the exchanges; `nil` without one.
    let recorder: HARRecorder?
    /// The monitor for `--verbose` and `--dump-header`; `nil` without both.
    let wire: WireMonitor?

    init(_ options: Options) {
        self.options = options
        recorder = options.recording.makeRecorder(revealingSecrets: options.tools.showSecrets)
        cache = options.caching.cache.map { DiskCacheStorage(directory: $0) }
        cacheWarning = options.caching.cache.map { CacheWarning(directory: $0) }
        upgrades = UpgradeStores(options.upgrades)
        wire =
            options.tools.verbose || options.tools.timing || options.places.dumpHeader != nil || options.showsHead
                || options.places.writeOut != nil
            ? WireMonitor(
                isVerbose: options.tools.verbose, showsSecrets: options.tools.showSecrets,
                leavesOutAccept: options.removedNames.contains(.accept),
                keepsHeads: options.places.dumpHeader != nil || options.showsHead) : nil
    }

    /// Sends the request and prints the response. Returns the exit status.
    func run() async -> CInt {
        if options.tools.swift { return await printSwiftCode() }
        if options.tools.printsCURLCommand { return await printCURLCommand() }
        options.printWarnings()
        cacheWarning?.check()
        if let failure = options.recording.failure { return await fail(failure, after: .zero) }
        if let argument = options.places.writeOut {
            do { _ = try WriteOut(argument) } catch { return await fail(error, after: .zero) }
        }
        if let failure = emptyHeads() { return await fail(failure, after: .zero) }
        if let count = options.tools.repeat { return await measure(count) }
        switch options.place {
        case .file: return await download()
        case .standardOutput: return await run(to: .standardOutput)
        case .special(let path):
            let start = ContinuousClock.now
            do {
                let sink = try await ByteSink.open(path, within: options.limits.deadline.map { .seconds($0) })
                return await run(to: sink, after: .now - start)
            } catch {
                return await fail(error, after: .now - start)
            }
        }
    }

    /// Chooses the output that shows the response, and runs with that output.
    private func run(to sink: ByteSink, after elapsed: Duration = .zero) async -> CInt {
        if options.places.report != nil {
            let copy = options.places.output == nil || options.places.output == "-" ? nil : sink
            return await run(
                with: ReportOutput(
                    hasItems: options.streaming.stream?.hasItems ?? false, upTo: options.streaming.limit,
                    copyingTo: copy),
                after: elapsed)
        }
        if Terminal.output.isTerminal, options.streaming.stream == nil, options.places.output == nil {
            let output = TerminalOutput(showsEveryHead: options.showsHead, isSilent: options.isSilent)
            return await run(with: output, after: elapsed)
        }
        let output = PlainOutput(
            to: sink, showsProgress: options.streaming.stream == nil && !options.tools.silent,
            showsHead: options.showsHead)
        return await run(with: output, after: elapsed)
    }

    /// Sends the request, prints to an output, and reports a failure. Returns the exit status.
    ///
    /// - Parameter elapsed: The part of the deadline that has already passed.
    private func run(with output: some Output, after elapsed: Duration) async -> CInt {
        var (output, outcome) = (output, Outcome(url: options.url))
        let start = ContinuousClock.now - elapsed
        do {
            let steps = try await options.makeSteps()
            outcome =
                options.streaming.stream == .sse
                ? await events(to: &output, steps) : await exchange(with: &output, steps, after: elapsed)
            let unkept = await keepFiles(of: steps)
            if outcome.failure == nil, let unkept { outcome.fail(unkept, after: .now - start) }
        } catch {
            outcome.fail(RequestFailure(error), after: .now - start)
        }
        do {
            try await output.end(outcome)
        } catch {
            if outcome.failure == nil, !(error is ReaderHasGone) { outcome.failure = RequestFailure(error) }
        }
        if let certificates = certificates(of: outcome) { Terminal.error.print(certificates) }
        if let remark = remark(on: outcome) { Terminal.error.print(remark) }
        if options.tools.timing {
            let start = await wire?.start(of: outcome.metrics.callID) ?? .zero
            for line in Waterfall(outcome.metrics, since: start).lines(on: .error) { Terminal.error.print(line) }
        }
        if let failure = outcome.failure { complain(failure) }
        await writeOut(outcome, size: outcome.bodySize)
        return outcome.exitStatus
    }

    /// Reports a failure that occurred before anything was sent, and returns its exit status.
    func fail(_ error: any Error, after elapsed: Duration) async -> CInt {
        var outcome = Outcome(url: options.url)
        outcome.fail(RequestFailure(error), after: elapsed)
        if options.places.report != nil { try? await ReportOutput(hasItems: false).end(outcome) }
        complain(RequestFailure(error))
        return outcome.exitStatus
    }

    /// Sends the request and delivers the response to the output as it arrives.
    private func exchange(with output: inout some Output, _ steps: Steps, after elapsed: Duration) async -> Outcome {
        let start = ContinuousClock.now
        var outcome = Outcome(url: options.url)
        var stream: StreamResponse?
        var last: Session?
        do {
            let session = Session(configuration: try sessionConfiguration(steps))
            defer { last = session }
            var request = try options.makeRequest()
            if let deadline = options.limits.deadline { request.timeouts?.total = .seconds(deadline) - elapsed }
            let response = try await session.stream(request)
            stream = response
            outcome.take(response.response)
            await wire?.settle(response.response.callID)
            let heads =
                await wire?.heads.dropLast(response.response.cacheStatus?.isFromCache == true ? 0 : 1).joined() ?? ""
            try await dumpHeads()
            try await output.begin(response.response, after: heads)
            try await validate(response, output: &output)
            if try await deliver(response, to: &output, counting: &outcome.bodySize) {
                outcome.take(try await response.finalResponse())
                if options.places.failWithBody, response.response.status.code >= 400 {
                    outcome.fail(options.refusal(of: response.response), after: .now - start)
                }
            } else {
                outcome.take(await metricsOfEnding(response))
            }
        } catch is ReaderHasGone {
            stream?.cancel()
        } catch {
            stream?.cancel()
            outcome.fail(RequestFailure(error), after: .now - start)
        }
        if let last {
            await finish(last)
            await finishRecording(last)
            // Without a response, the heads on the way to it are all that came.
            if stream == nil, let heads = await wire?.heads.joined() { try? await output.end(after: heads) }
            if outcome.failure != nil { try? await dumpHeads() }
        }
        return outcome
    }

    /// Throws an error if the response is not acceptable. The output gets the beginning of its body, which the error contains.
    private func validate(_ response: StreamResponse, output: inout some Output) async throws {
        do {
            if options.places.validatesAnswer {
                try await response.validate()
            } else if options.places.fail {
                try await response.validate(statusCode: 100..<400)
            }
        } catch let error as TrellisError {
            if let beginning = error.bodyExcerpt { try await output.refuse(beginning.data) }
            throw error
        }
    }

    /// Delivers the body to the output. Returns whether the body is complete.
    private func deliver(
        _ response: StreamResponse, to output: inout some Output, counting size: inout Int64
    ) async throws -> Bool {
        var count = 0
        switch options.streaming.stream {
        case .lines:
            for try await line in response.lines {
                try await output.item(.line(line))
                count += 1
                if count == options.streaming.limit { return false }
            }
        case .ndjson:
            for try await json in response.chunks.jsonLines(decoding: JSON.text(ofLine:)) {
                try await output.item(.json(json.text))
                count += 1
                if count == options.streaming.limit { return false }
            }
        // Events have connections of their own, and are delivered by `deliverEvents`.
        case .chunks, .sse, nil:
            for try await chunk in response.chunks {
                size += Int64(chunk.count)
                guard try await output.chunk(chunk) else { return false }
                count += 1
                if count == options.streaming.limit { return false }
            }
        }
        return true
    }

    /// Ends a transfer that has delivered enough. Returns its metrics, which are part of the error of the cancellation.
    private func metricsOfEnding(_ response: StreamResponse) async -> Metrics? {
        response.cancel()
        do {
            return try await response.finalResponse().metrics
        } catch {
            return (error as? TrellisError)?.metrics
        }
    }

    private func printCURLCommand() async -> CInt {
        do {
            let session = Session(configuration: try sessionConfiguration(Steps()))
            let command = try session.cURLDescription(of: try options.cURLRequest(), options.cURLDetails())
            try await StandardOutput.write(command + "\n")
        } catch is ReaderHasGone {
        } catch {
            let failure = RequestFailure(error)
            complain(failure)
            return failure.exitStatus
        }
        return ExitStatus.done
    }

    private func printSwiftCode() async -> CInt {
        do {
            try await StandardOutput.write(try SwiftCode(options: options).text())
            return ExitStatus.done
        } catch is ReaderHasGone {
            return ExitStatus.done
        } catch {
            let failure = RequestFailure(error)
            complain(failure)
            return failure.exitStatus
        }
    }

    /// Prints the message about a failure on standard error, on one line.
    func complain(_ failure: RequestFailure) {
        if !options.isSilent { Terminal.error.print(complaint(failure, about: options.url)) }
    }

    /// Returns the message about a failure, with advice on how to correct the failure if its cause is likely.
    func complaint(_ failure: RequestFailure, about url: String, title: String = "") -> String {
        // The framework itself names the URL that begins with a host.
        let mayMissScheme =
            failure.kind == "invalid_url" && !url.isEmpty && !failure.message.contains("did you mean")
            && url[...].cut(at: ":")?.after.utf8.starts(with: "//".utf8) != true
        // The URL without its secrets, if the framework has removed them.
        let hint = mayMissScheme ? " (did you mean http://\(failure.url ?? url) ?)" : ""
        let attempts =
            failure.attempts > 1 && options.limits.retries != nil ? " after \(failure.attempts) attempts" : ""
        return Terminal.error.styled("trellis: ", .red) + title + failure.message + attempts
            + (advice(on: failure, url) ?? hint)
    }

    /// Returns advice on a failure that another command or an option explains; `nil` if there is none.
    private func advice(on failure: RequestFailure, _ url: String) -> String? {
        let scheme = url[...].cut(at: ":")?.before.lowercasedASCII()
        switch failure.kind {
        case "invalid_url" where scheme == "ws" || scheme == "wss": return " (a WebSocket: trellis ws URL)"
        case "invalid_url" where Options.usualMethod(url) != nil:
            return " (a method needs a URL: trellis -X \(Options.usualMethod(url) ?? url) URL)"
        case "proxy" where options.proxies.proxy != nil: return " (--proxy names it)"
        case "timeout_connect": return " (--connect-timeout)"
        case "timeout_idle": return " (--idle-timeout)"
        case "timeout_deadline": return " (--deadline)"
        case "body_too_large": return " (--max-body)"
        case "too_many_redirects": return " (--redirects)"
        case "untrusted" where options.tls.cacert == nil:
            return " (--cacert FILE trusts another authority, and --insecure anybody)"
        case "proxy": return " (the environment names it: http_proxy, https_proxy or all_proxy)"
        default: return nil
        }
    }
}
