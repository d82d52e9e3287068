public import ArgumentParser
import TerminalKit
public import Trellis

/// The options about the cache.
struct CacheOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Keep responses in this folder, and use them as RFC 9111 allows it. Several runs may share the folder at the same time.",
            valueName: "DIR"), completion: .directory)
    var cache: String?

    @Option(
        help: ArgumentHelp(
            "How the cache is used, with the names of the Fetch standard; default unless given.",
            valueName: CacheMode.allCases.map(\.rawValue).joined(separator: "|")))
    var cacheMode: CacheMode?

    func validate() throws {
        guard cacheMode == nil || cache != nil else { throw ValidationError("--cache-mode goes with --cache.") }
        guard cache != "" else { throw ValidationError("--cache needs a folder.") }
    }
}

extension CacheMode: @retroactive ExpressibleByArgument {}

extension Client {
    /// Returns the reason why there is no body, if the cache has nothing to respond with and must not ask the server; `nil` for any other
    /// response.
    func remark(on outcome: Outcome, title: String = "") -> String? {
        guard let status = outcome.response?.cacheStatus ?? outcome.metrics.cacheStatus,
            status.detail == CacheMode.onlyIfCached.rawValue
        else { return nil }
        return Terminal.error.styled("trellis: ", .magenta) + title
            + "no stored response can be used, and nothing was sent (only-if-cached)"
    }

    /// The time for which responses are still validated in the background after the response of the run.
    private static let backgroundTime: Duration = .seconds(10)

    /// Waits for what the cache still does. Without a cache, returns at once.
    func finish(_ session: Session) async {
        guard let cache else { return }
        await session.shutdown(drainingFor: Self.backgroundTime)
        await cache.close()
    }
}
