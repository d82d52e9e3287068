import CurlEngine
import FoundationEssentials
import HTTPTypes
import TrellisCore

/// A script that was read or fetched.
struct LoadedProxyScript: Sendable {
    let text: String
    /// The time for which the script is used; `nil` if it never changes.
    let lifetime: Duration?
}

extension PACScript {
    /// The largest size of a script in a file, in bytes.
    private static let sizeLimit = 1 << 20

    /// Reads or fetches the script.
    func load(_ access: any ProxyScriptAccess) async throws -> LoadedProxyScript {
        switch source {
        case .text(let script): return LoadedProxyScript(text: try Self.checked(script.text), lifetime: nil)
        case .file(let path): return LoadedProxyScript(text: try await Self.read(path), lifetime: .seconds(60))
        case .url(let url):
            let (bytes, fields) = try await access.fetch(url)
            return LoadedProxyScript(text: try Self.text(bytes), lifetime: Self.lifetime(fields))
        }
    }

    private static func read(_ path: String) async throws -> String {
        do {
            let data = try await BlockingThreadPool.tryingUnlessCancelled(at: FileSystem.folder(of: path)) {
                try WholeFile.read(path: path, limit: sizeLimit)?.data
            }
            guard let data else { throw failure("there is no file \(path)") }
            return try text(data)
        } catch let error as FileError {
            throw failure("the file \(path) cannot be read: \(error.reason)")
        }
    }

    /// Returns the text of bytes, without a byte order mark.
    private static func text(_ bytes: Data) throws(TrellisError) -> String {
        let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
        return try checked(String(decoding: bytes.starts(with: mark) ? bytes.dropFirst(3) : bytes, as: UTF8.self))
    }

    private static func checked(_ text: String) throws(TrellisError) -> String {
        guard !text.utf8.contains(0) else { throw failure("it is not text") }
        return text
    }

    private static func failure(_ reason: String) -> TrellisError {
        TrellisError(.proxyFailed(.script(reason, mayBeTransient: false)))
    }

    /// Returns the time for which a response is fresh (RFC 9111, section 4.2.1): from a minute to a day, and an hour if it does not say.
    static func lifetime(_ headers: HTTPFields) -> Duration {
        let directives = (headers[.cacheControl] ?? "").lowercasedASCII().split(atByte: ",").map(\.withoutBlanks)
        if directives.contains("no-store") || directives.contains("no-cache") { return .seconds(60) }
        guard let age = directives.first(where: { $0.hasBytePrefix("max-age=") }) else { return .seconds(3600) }
        let digits = String(decoding: age.utf8.dropFirst(8).filter { $0 != UInt8(ascii: "\"") }, as: UTF8.self)
        guard !digits.isEmpty, digits.utf8.allSatisfy({ 0x30...0x39 ~= $0 }) else { return .seconds(60) }
        return .seconds(min(max(Int(digits) ?? 86_400, 60), 86_400))
    }
}
