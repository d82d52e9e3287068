import ArgumentParser
import Trellis

/// The options about what servers have asked for in earlier runs.
struct UpgradeOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Keep the hosts that ask for https in this file, in the format of curl, and use https for their http URLs.",
            valueName: "FILE"), completion: .file())
    var hsts: String?

    @Option(
        help: ArgumentHelp(
            "Keep the alternative services of servers in this file, in the format of curl, and use those with HTTP/3, where the "
                + "running libcurl has it.",
            valueName: "FILE"), completion: .file())
    var altSvc: String?
}

/// The stores of one run, in the files of the options.
struct UpgradeStores: Sendable {
    let hsts: HSTSStore?
    let alternatives: AlternativeServiceStore?

    init(_ options: UpgradeOptions) {
        hsts = options.hsts.map { HSTSStore(file: $0) }
        alternatives = options.altSvc.map { AlternativeServiceStore(file: $0) }
    }
}

extension Client {
    /// Returns the configuration of connections, with the steps that surround each request, and the stores of the run.
    func sessionConfiguration(_ steps: Steps) throws -> SessionConfiguration {
        var configuration = try options.sessionConfiguration(steps)
        configuration.hsts = upgrades.hsts
        configuration.alternativeServices = upgrades.alternatives
        if let cache { configuration.cache = HTTPCache(storage: cache) }
        if let cacheWarning { configuration.eventMonitors.append(cacheWarning) }
        if let wire {
            configuration.eventMonitors.append(wire)
            if options.tools.verbose { configuration.collectsServerTrust = true }
        }
        if let recorder { configuration.record(into: recorder) }
        return configuration
    }

    /// Writes the cookies, hosts, services and exchanges that could not be written yet. Returns the first failure, if there is one.
    func keepFiles(of steps: Steps) async -> RequestFailure? {
        var failure = await steps.keepCookies()
        let unrecorded = await keepRecording()
        failure = failure ?? unrecorded
        for flush in [upgrades.hsts?.flush, upgrades.alternatives?.flush] {
            do throws(FileFailure) { try await flush?() } catch {
                failure = failure ?? RequestFailure("file", error.description)
            }
        }
        return failure
    }
}
