import TerminalKit
import Trellis

/// One request from the command line to the end of its answer.
struct Client {
    let options: Options

    init(_ options: Options) { self.options = options }

    /// Sends the request and prints what comes. Whether that worked.
    func run() async -> Bool {
        if options.printsCURLCommand { return await printCURLCommand() }
        if let path = options.output, path != "-" {
            guard Self.isSpecial(path) else { return await download() }
            do {
                try Self.redirectOutput(to: path)
            } catch {
                complain(RequestFailure(error))
                return false
            }
        }
        if options.report != nil { return await run(with: ReportOutput(hasItems: options.stream?.hasItems ?? false)) }
        if Terminal.output.isTerminal, options.stream == nil, options.output == nil {
            return await run(with: TerminalOutput())
        }
        return await run(with: PlainOutput(showsProgress: options.stream == nil))
    }

    private func run(with output: some Output) async -> Bool {
        var output = output
        var outcome = options.stream == .sse ? await events(to: &output) : await exchange(with: &output)
        do {
            try await output.end(outcome)
        } catch {
            if outcome.failure == nil, !(error is ReaderHasGone) { outcome.failure = RequestFailure(error) }
        }
        if let failure = outcome.failure { complain(failure) }
        return outcome.failure == nil
    }

    /// Sends the request and hands over what comes as it comes.
    private func exchange(with output: inout some Output) async -> Outcome {
        let start = ContinuousClock.now
        var outcome = Outcome(url: options.url)
        var stream: StreamResponse?
        do {
            var configuration = options.sessionConfiguration
            configuration.steps = try options.makeSteps()
            let session = Session(configuration: configuration)
            let response = try await session.stream(try options.makeRequest())
            stream = response
            outcome.take(response.head)
            try await output.begin(response.head)
            if options.validatesAnswer { try await validate(response, output: &output) }
            if try await deliver(response, to: &output) {
                outcome.take(try await response.finalResponse())
            } else {
                outcome.take(await metricsOfEnding(response))
            }
            try await configuration.steps.keepCookies()
        } catch is ReaderHasGone {
            stream?.cancel()
        } catch {
            stream?.cancel()
            outcome.fail(RequestFailure(error), after: .now - start)
        }
        return outcome
    }

    /// Refuses what is not accepted; of its body the error has the beginning.
    private func validate(_ response: StreamResponse, output: inout some Output) async throws {
        do {
            try await response.validate()
        } catch let error as TrellisError {
            if let beginning = error.bodyExcerpt { try await output.refuse(beginning.data) }
            throw error
        }
    }

    /// Hands over the body; whether it came to its end.
    private func deliver(_ response: StreamResponse, to output: inout some Output) async throws -> Bool {
        var count = 0
        switch options.stream {
        case .lines:
            for try await line in response.lines {
                try await output.item(.line(line))
                count += 1
                if count == options.limit { return false }
            }
        case .ndjson:
            for try await item in response.chunks.jsonLines(decoding: StreamItem.json(line:)) {
                try await output.item(item)
                count += 1
                if count == options.limit { return false }
            }
        // Events have connections of their own.
        case .chunks, .sse, nil:
            for try await chunk in response.chunks {
                guard try await output.chunk(chunk) else { return false }
                count += 1
                if count == options.limit { return false }
            }
        }
        return true
    }

    /// Ends a transfer that has given enough. What it took comes with the error that this makes.
    private func metricsOfEnding(_ response: StreamResponse) async -> Metrics? {
        response.cancel()
        do {
            return try await response.finalResponse().metrics
        } catch {
            return (error as? TrellisError)?.metrics
        }
    }

    private func printCURLCommand() async -> Bool {
        do {
            let session = Session(configuration: options.sessionConfiguration)
            var details = CURLDescriptionOptions(revealingSecrets: options.showSecrets)
            details.furtherArguments += options.cURLCredentials
            let command = try session.cURLDescription(of: try options.makeRequest(), details)
            try await StandardOutput.write(command + "\n")
        } catch is ReaderHasGone {
        } catch {
            complain(RequestFailure(error))
            return false
        }
        return true
    }

    /// Words on stderr, on one line.
    func complain(_ failure: RequestFailure) { Terminal.error.print(complaint(failure, about: options.url)) }

    /// What to say about a failure, and what to do about it, where that is likely.
    func complaint(_ failure: RequestFailure, about url: String, title: String = "") -> String {
        let mayMissScheme =
            failure.kind == "invalid_url" && !url.isEmpty
            && url[...].cut(at: ":")?.after.utf8.starts(with: "//".utf8) != true
        // Without the secrets in it, where the framework has taken them out.
        let hint = mayMissScheme ? " (did you mean http://\(failure.url ?? url) ?)" : ""
        return Terminal.error.styled("trellis: ", .red) + title + failure.message + hint
    }
}
