import CurlEngine
import FoundationEssentials
public import TrellisCore

/// A file with a token, for tools: one sign-in serves every later start, and one request serves several processes.
///
/// ```swift
/// oauth.store = OAuthTokenFile("/home/ada/.local/state/reports/token.json", for: "reports at id.example.com")
/// ```
///
/// Only its user may read the file, whose mode is 0600. A file that others may read, or that belongs to somebody else, is an error: its
/// token may be known. A change replaces the file in one step, under the lock of a file beside it with the ending `.lock`; another process
/// waits for the lock while this one asks the server, and then finds the new token. The folder is made if it is missing, for this user
/// alone.
///
/// A file that is no token file, or is one for something else, is an error and stays as it is.
public struct OAuthTokenFile: OAuthTokenStore {
    /// The largest size of a file, in bytes.
    static let limit = 1 << 20

    /// The path of the file.
    public let path: String
    /// The name of what the token is for, such as a client and its server. The file has the name in it.
    public let purpose: String

    /// Creates the access to a file, which is not read yet.
    ///
    /// - Parameters:
    ///   - path: The path of the file.
    ///   - purpose: The name of what the token is for. The same file under another name is an error.
    public init(_ path: some FilePathConvertible, for purpose: String) {
        self.path = path.filePath
        self.purpose = purpose
    }

    /// Returns the token in the file, if any.
    ///
    /// - Throws: ``OAuthError/unusableFile(path:reason:)``.
    public func token() async throws -> OAuthToken? {
        try await onFile { () throws(FileError) in try contents() }
    }

    /// Changes the token under the lock of the file.
    ///
    /// - Throws: The error of `change`; ``OAuthError/unusableFile(path:reason:)``; `CancellationError` in a cancelled task.
    public func update(_ change: @Sendable (inout OAuthToken?) async throws -> Void) async throws {
        let lock = try await lock()
        defer { lock.end() }
        let old = try await token()
        var token = old
        do { try await change(&token) } catch {
            if token != old { try? await write(token) }
            throw error
        }
        if token != old { try await write(token) }
    }

    // MARK: The file

    private func onFile<Value: Sendable>(
        _ work: @escaping @Sendable () throws(FileError) -> Value
    ) async throws -> Value {
        do throws(FileError) {
            return try await BlockingThreadPool.trying(at: FileSystem.folder(of: path), work)
        } catch { throw OAuthError.unusableFile(path: path, reason: error.reason) }
    }

    private func contents() throws(FileError) -> OAuthToken? {
        try WholeFile.check(path: path)
        guard
            let file = try WholeFile.read(
                path: path, limit: Self.limit, ofThisUserAlone: true, withSecrets: true),
            !file.data.isEmpty
        else { return nil }
        guard let record = try? JSONDecoder().decode(Record.self, from: file.data), record.kind == Record.kind else {
            throw FileError(reason: "it is not a file with a token, and stays as it is")
        }
        guard record.purpose.hasSameBytes(as: purpose) else {
            throw FileError(reason: "its token is for something else, and stays as it is")
        }
        return record.token
    }

    private func write(_ token: OAuthToken?) async throws {
        try await onFile { () throws(FileError) in
            guard let data = try? JSONEncoder().encode(Record(token, for: purpose)) else {
                throw FileError(reason: "its contents cannot be encoded")
            }
            try WholeFile.replace(path: path, with: data)
        }
    }

    /// Waits for the lock, as long as another process asks the server.
    private func lock() async throws -> HeldLock {
        var attempt = 0
        while true {
            try Task.checkCancellation()
            let held = try await onFile { () throws(FileError) -> HeldLock? in
                try FileSystem.makePrivateFolder(FileSystem.folder(of: path))
                // Checked first, so that no lock is created beside a path that is no file.
                try WholeFile.check(path: path)
                guard let lock = try FileLock.taken(path: path + ".lock") else { return nil }
                return HeldLock(lock)
            }
            if let held { return held }
            attempt += 1
            // At random, so that the processes that wait do not all try at the same time.
            try await Task.sleep(for: .milliseconds(Int.random(in: 1...min(4 * attempt, 100))))
        }
    }
}

/// The lock of a file, which tasks pass on.
private final class HeldLock: Sendable {
    private let lock: Locked<FileLock?>

    init(_ lock: consuming FileLock) { self.lock = Locked(lock) }

    /// Gives the lock back.
    func end() { lock.withLock { $0 = nil } }
}

/// The contents of a file.
private struct Record: Codable {
    static let kind = "OAuth token 1"

    let kind: String
    let purpose: String
    let accessToken: String?
    let expiration: Double?
    let refreshToken: String?
    let scope: String?
    let issuer: String?

    init(_ token: OAuthToken?, for purpose: String) {
        kind = Self.kind
        self.purpose = purpose
        accessToken = token?.accessToken
        expiration = token?.expiration?.timeIntervalSince1970
        refreshToken = token?.refreshToken
        scope = token?.scope
        issuer = token?.issuer
    }

    var token: OAuthToken? {
        accessToken.map {
            OAuthToken(
                $0, expiration: expiration.map { Date(timeIntervalSince1970: $0) }, refreshToken: refreshToken,
                scope: scope, issuer: issuer)
        }
    }
}
